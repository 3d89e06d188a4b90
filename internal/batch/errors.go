package batch

import "fmt"

// DamagedError is a batch whose bytes cannot be what they claim to be.
type DamagedError struct {
	Offset int64 // the batch's base offset, or what stands in its place
	Reason string
}

// Error names the offset and the reason.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the batch at offset %d is damaged: %s", e.Offset, e.Reason)
}

// CodecError is a batch compressed with a codec that Kafka does not have.
type CodecError struct {
	Offset int64
	Codec  Codec
}

// Error names the offset and the codec.
func (e *CodecError) Error() string {
	return fmt.Sprintf("the batch at offset %d is compressed with %s, which is not known", e.Offset, e.Codec)
}

// TooLargeError is a batch that is larger, decompressed, than the limit allows.
type TooLargeError struct {
	Offset int64
	Size   int64 // what the batch claims, or how far decompression had come
	Limit  int64
}

// Error names the offset and the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the batch at offset %d takes at least %d bytes when decompressed, above the limit of %d", e.Offset, e.Size, e.Limit)
}

func damaged(offset int64, format string, args ...any) error {
	return &DamagedError{Offset: offset, Reason: fmt.Sprintf(format, args...)}
}
