package outbound

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPermitted(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"8.8.8.8", "172.32.0.1", "100.128.0.1", "168.63.129.17", "192.0.1.1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2606:4700::1111"} {
		require.True(t, permitted(netip.MustParseAddr(s), nil), s)
	}
	for _, s := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "168.63.129.16",
		"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1",
		"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
		"64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "2001::1", "2001:2::1", "2001:db8::1", "3fff::1",
		"fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "100::1", "5f00::1", "::ffff:0:127.0.0.1",
	} {
		require.False(t, permitted(netip.MustParseAddr(s), nil), s)
	}
}

func TestPermittedWhereAllowed(t *testing.T) {
	t.Parallel()
	allow := prefixes("10.1.0.0/16", "fd00::/8", "fe80::/10")
	for _, s := range []string{"10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "fd00::1", "fe80::1%eth0", "8.8.8.8"} {
		require.True(t, permitted(netip.MustParseAddr(s), allow), s)
	}
	for _, s := range []string{"10.2.0.1", "127.0.0.1", "fc00::1", "2002:a01:203::"} {
		require.False(t, permitted(netip.MustParseAddr(s), allow), s)
	}
}

func TestParseNetworks(t *testing.T) {
	t.Parallel()
	got, err := ParseNetworks(" 10.0.0.0/8 ,fd00::/8,, 192.168.1.7/32")
	require.NoError(t, err)
	require.Equal(t, prefixes("10.0.0.0/8", "fd00::/8", "192.168.1.7/32"), got)
	got, err = ParseNetworks("")
	require.NoError(t, err)
	require.Empty(t, got)
	for _, s := range []string{"10.0.0.1", "10.0.0.0/33", "all", "::ffff:10.0.0.0/104", "10.0.0.0/8;fd00::/8", "fe80::%eth0/64"} {
		_, err := ParseNetworks(s)
		require.EqualError(t, err, `"`+s+`" is not a network such as 10.0.0.0/8 or fd00::/8`)
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	const (
		scheme  = "must be an http or https URL"
		host    = "must name a host"
		user    = "must not hold a user name or password"
		private = "must not point to a private address"
		spell   = "must name its host in plain letters, or write its address as usual"
	)
	for _, c := range []struct{ url, want string }{
		{"https://hooks.example.com/a/b?c=d", ""},
		{"http://hooks.example.com:8080", ""},
		{"HTTPS://EXAMPLE.com./", ""},
		{"https://xn--bcher-kva.example/", ""},
		{"https://8.8.8.8/", ""},
		{"https://[2606:4700::1111]:8443/", ""},
		{"https://1password.example/", ""},
		{"https://a.0xa.example/", ""},
		{"", scheme},
		{"example.com/hook", scheme},
		{"ftp://example.com/", scheme},
		{"javascript:alert(1)", scheme},
		{"file:///etc/passwd", scheme},
		{"https://exa mple.com/", scheme},
		{"https://example.com/\r\nX: y", scheme},
		{"http:example.com", host},
		{"http:///path", host},
		{"http://:80/", host},
		{"https://user:pass@example.com/", user},
		{"https://user@example.com/", user},
		{"https://example.com:65536/", "must have a port below 65536"},
		{"https://example.com/" + strings.Repeat("x", 2048), "must have at most 2048 characters"},
		{"http://127.0.0.1/", private},
		{"http://10.0.0.1:9200/", private},
		{"http://169.254.169.254/latest/meta-data", private},
		{"http://[::1]/", private},
		{"http://[::]/", private},
		{"http://[::ffff:127.0.0.1]/", private},
		{"http://[::ffff:7f00:1]/", private},
		{"http://[64:ff9b::7f00:1]/", private},
		{"http://[fe80::1%25eth0]/", private},
		{"http://localhost:8080/", private},
		{"http://LocalHost./", private},
		{"http://a.localhost/", private},
		{"http://127.0.0.1./", spell},
		{"http://127.1/", spell},
		{"http://127.0.1/", spell},
		{"http://2130706433/", spell},
		{"http://0x7f000001/", spell},
		{"http://0X7F.1/", spell},
		{"http://0177.0.0.1/", spell},
		{"http://017700000001/", spell},
		{"http://0/", spell},
		{"http://0x/", spell},
		{"http://127.0.0.0x1/", spell},
		{"http://1.2.3.4.5/", spell},
		{"http://127。0。0。1/", spell},
		{"http://①②⑦.0.0.1/", spell},
		{"http://bücher.example/", spell},
	} {
		err := CheckURL(c.url, nil)
		if c.want == "" {
			require.NoError(t, err, c.url)
		} else {
			require.EqualError(t, err, c.want, c.url)
		}
	}
	require.NoError(t, CheckURL("http://127.0.0.1:9/", prefixes("127.0.0.0/8")))
	require.NoError(t, CheckURL("http://localhost:9/", prefixes("127.0.0.0/8")))
	require.EqualError(t, CheckURL("http://127.1/", prefixes("127.0.0.0/8")), spell)
	require.EqualError(t, CheckURL("http://10.0.0.1/", prefixes("127.0.0.0/8")), private)
}
