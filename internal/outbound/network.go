package outbound

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Networks of which no public service can be a part, from the special-purpose registries of IANA.
var reserved = prefixes(
	"0.0.0.0/8",        // this host
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // carrier-grade NAT; one cloud's metadata
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // a cloud's metadata, though the address looks public
	"169.254.0.0/16",   // link-local; most clouds' metadata
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments; one cloud's metadata
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // future use, broadcast
	"2001::/23",        // protocol assignments: Teredo, benchmarks, ORCHID
	"2001:db8::/32",    // documentation
	"2002::/16",        // 6to4: an IPv4 address inside, and out of use
	"3fff::/20",        // documentation
)

var (
	global6 = netip.MustParsePrefix("2000::/3")       // all of IPv6 that is public; the rest needs no list
	nat64   = netip.MustParsePrefix("64:ff9b::/96")   // an IPv4 address in the last four bytes
	plain   = regexp.MustCompile(`^[A-Za-z0-9._-]+$`) // other letters may be folded into digits and dots on the way
	number  = regexp.MustCompile(`(?i)(^|\.)(\d+|0x[\da-f]*)\.?$`)
)

func prefixes(s ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(s))
	for i := range s {
		out[i] = netip.MustParsePrefix(s[i])
	}
	return out
}

// permitted reports whether a call may go to an address: a public one, or one that allow names.
func permitted(a netip.Addr, allow []netip.Prefix) bool {
	a = a.Unmap().WithZone("") // no prefix contains an address with a zone
	contains := func(p netip.Prefix) bool { return p.Contains(a) }
	switch {
	case slices.ContainsFunc(allow, contains):
		return true
	case nat64.Contains(a):
		b := a.As16()
		return permitted(netip.AddrFrom4([4]byte(b[12:])), allow)
	case a.Is6() && !global6.Contains(a):
		return false
	}
	return !slices.ContainsFunc(reserved, contains)
}

// ParseNetworks reads a list of networks such as "10.0.0.0/8, fd00::/8".
func ParseNetworks(list string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for s := range strings.SplitSeq(list, ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		p, err := netip.ParsePrefix(s)
		if err != nil || p.Addr().Is4In6() {
			return nil, fmt.Errorf("%q is not a network such as 10.0.0.0/8 or fd00::/8", s)
		}
		out = append(out, p)
	}
	return out, nil
}

// CheckURL says what is wrong with a URL that a user wants called, in words that follow the field's name. It refuses
// private addresses that are written out; where a name leads is known only when it is called.
func CheckURL(s string, allow []netip.Prefix) error {
	u, err := parseURL(s)
	if err != nil {
		return err
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		host = "127.0.0.1"
	}
	if a, err := netip.ParseAddr(host); err == nil && !permitted(a, allow) {
		return errors.New("must not point to a private address")
	}
	return nil
}

func parseURL(s string) (*url.URL, error) {
	const longest = 2048
	u, err := url.Parse(s)
	switch {
	case len(s) > longest:
		return nil, fmt.Errorf("must have at most %d characters", longest)
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("must be an http or https URL")
	case u.User != nil:
		return nil, errors.New("must not hold a user name or password")
	case u.Hostname() == "":
		return nil, errors.New("must name a host")
	}
	if _, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && err != nil {
		return nil, errors.New("must have a port below 65536")
	}
	// 127.1, 0x7f000001 and 2130706433 are addresses to some resolvers. Nobody needs them, so none is let through.
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err != nil && (!plain.MatchString(host) || number.MatchString(host)) {
		return nil, errors.New("must name its host in plain letters, or write its address as usual")
	}
	return u, nil
}
