package registry

import (
	"net/url"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// address is one base address of a registry.
type address struct {
	base  string // scheme, host and path without a slash at its end
	shown string // for messages: the same
	query string // what the address itself asks for, without the question mark
}

// parseAddresses checks the addresses; user is the first user-info in one of
// them. No error repeats an address, which may hold secrets.
func parseAddresses(name string, urls []string) (all []address, user *url.Userinfo, err error) {
	if len(urls) == 0 {
		return nil, nil, fault.New(fault.Usage, "%s has no address", name)
	}
	for i, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return nil, nil, fault.New(fault.Usage, "address %d of %s is no http or https address", i+1, name)
		}
		if user == nil {
			user = u.User
		}
		base := u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/")
		all = append(all, address{base: base, shown: base, query: u.RawQuery})
	}
	return all, user, nil
}

// at returns the address of a path, which begins with a slash and may have a query.
func (a address) at(path string) string {
	switch {
	case a.query == "":
		return a.base + path
	case strings.Contains(path, "?"):
		return a.base + path + "&" + a.query
	}
	return a.base + path + "?" + a.query
}

// login is what a request is authorized with; the zero login is nothing.
type login struct{ user, password, token string }

// who names the login without its secret.
func (l login) who() string {
	switch {
	case l.token != "":
		return "the bearer token"
	case l.user != "":
		return "user " + l.user
	case l.password != "":
		return "a password without a user"
	}
	return "requests without credentials"
}
