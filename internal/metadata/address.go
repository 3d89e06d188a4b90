package metadata

import (
	"net"
	"strconv"
	"strings"
)

// splitAddresses cuts HOST:PORT,… apart. If one is wrong, bad is that one and
// why a sentence that follows it.
func splitAddresses(s string) (addresses []string, bad, why string) {
	for one := range strings.SplitSeq(s, ",") {
		one = strings.TrimSpace(one)
		if why := badAddress(one); why != "" {
			return nil, one, why
		}
		addresses = append(addresses, one)
	}
	return addresses, "", ""
}

// badAddress says why an address is no HOST:PORT.
func badAddress(s string) string {
	if strings.Contains(s, "://") {
		return "must be HOST:PORT without a scheme; tls and sasl say how to connect"
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		if strings.Count(s, ":") > 1 && !strings.HasPrefix(s, "[") {
			return "must be HOST:PORT; an IPv6 address stands in brackets, [::1]:9092"
		}
		return "must be HOST:PORT"
	}
	if port == "" || badPort(port) {
		return "must be HOST:PORT with a port from 1 to 65535"
	}
	if host == "" || strings.ContainsFunc(host, notInHost) {
		return "must be HOST:PORT, and this is no host"
	}
	return ""
}

// notInHost reports what stands in no host name and no IP address.
func notInHost(r rune) bool {
	letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r > 0x7f
	return !letter && !strings.ContainsRune("-._:%", r)
}

// badPort reports whether a port that is not empty is none.
func badPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port != "" && (err != nil || n == 0)
}
