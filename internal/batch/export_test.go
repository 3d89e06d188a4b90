package batch

// UnLZ4 decompresses LZ4 frames as a batch's records are.
func (d *Decoder) UnLZ4(src []byte, limit int) ([]byte, error) { return d.unlz4(src, limit, false) }

// XXH32 is the checksum of LZ4 frames.
func XXH32(b []byte) uint32 { return xxh32(b) }

// LZ4Size measures a block.
func LZ4Size(block []byte) (int, bool) { return lz4Size(block) }

// Kept returns how many bytes of idle buffers p has.
func (p *Pool) Kept() int { return p.kept }
