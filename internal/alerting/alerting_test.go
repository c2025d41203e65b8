package alerting

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/outbound"
)

const secret = "whsec_0123456789abcdef"

func sender(t *testing.T, mail MailConfig) *Sender {
	t.Helper()
	loopback, err := outbound.ParseNetworks("127.0.0.0/8")
	require.NoError(t, err)
	s, err := New(outbound.New(loopback), mail, func() time.Time { return morning })
	require.NoError(t, err)
	return s
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestWebhookIsSigned(t *testing.T) {
	t.Parallel()
	var header http.Header
	var body []byte
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusNoContent)
	})
	n := notice("pass_rate_below", "firing")
	got := sender(t, MailConfig{}).Send(t.Context(), Target{Channel: "webhook", URL: url, Secret: secret}, n)
	require.Equal(t, Result{Status: 204, Message: "the endpoint answered 204", Delivered: true}, got)
	require.Equal(t, n.DeliveryID, header.Get("Skillgraph-Delivery"))
	require.Equal(t, "application/json", header.Get("Content-Type"))
	signature := header.Get("Skillgraph-Signature")
	require.Regexp(t, `^t=1794704523,v1=[0-9a-f]{64}$`, signature)

	check := func(secret, signature string, body []byte, now time.Time) error {
		return Verify(secret, signature, body, now, 5*time.Minute)
	}
	require.NoError(t, check(secret, signature, body, morning))
	require.NoError(t, check(secret, signature, body, morning.Add(5*time.Minute-time.Second)))
	require.NoError(t, check(secret, signature+",v1="+strings.Repeat("00", 32)+",v2=x", body, morning), "one of several is enough")
	const mismatch, late, shape = "the signature does not match", "the signature is too old or from the future", "the signature must look like t=<unix time>,v1=<hex>"
	require.EqualError(t, check("other", signature, body, morning), mismatch)
	require.EqualError(t, check(secret, signature, append(body, ' '), morning), mismatch)
	require.EqualError(t, check(secret, strings.Replace(signature, "t=1", "t=2", 1), body, morning), mismatch)
	require.EqualError(t, check(secret, signature, body, morning.Add(6*time.Minute)), late)
	require.EqualError(t, check(secret, signature, body, morning.Add(-6*time.Minute)), late)
	for _, s := range []string{"", "t=1", "v1=00", "t=x,v1=00", "t=1,v1=zz"} {
		require.EqualError(t, check(secret, s, body, morning), shape, s)
	}
}

// A signature computed elsewhere: printf '1794704523.{}' | openssl dgst -sha256 -hmac whsec_0123456789abcdef
func TestSignatureIsPlainHMAC(t *testing.T) {
	t.Parallel()
	require.Equal(t, "t=1794704523,v1=88c5f29b4a87270ba831a2f60acc81546152174e2f33aacfcb07b8d6ea769cf3", sign(secret, []byte("{}"), morning))
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]Result{
		200: {Status: 200, Message: "the endpoint answered 200", Delivered: true},
		202: {Status: 202, Message: "the endpoint answered 202", Delivered: true},
		302: {Status: 302, Message: "the endpoint answered 302; redirects are not followed"},
		404: {Status: 404, Message: "the endpoint answered 404"},
		429: {Status: 429, Message: "the endpoint answered 429"},
		500: {Status: 500, Message: "the endpoint answered 500"},
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://169.254.169.254/")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "the receiver's own words")
		})
		for _, channel := range []string{"chat_a", "chat_b", "webhook"} {
			require.Equal(t, want, sender(t, MailConfig{}).Send(t.Context(), Target{Channel: channel, URL: url}, notice("no_data", "firing")))
		}
	}
}

func TestWithoutAnswer(t *testing.T) {
	t.Parallel()
	s := sender(t, MailConfig{})
	require.False(t, s.CanMail())
	n := notice("pass_rate_below", "firing")
	try := func(channel, url string) Result { return s.Send(t.Context(), Target{Channel: channel, URL: url}, n) }
	require.Equal(t, Result{Message: "no connection: the address is not allowed"}, try("chat_a", "http://10.0.0.1/"))
	require.Equal(t, Result{Message: "this server is not set up to send e-mail"}, try("email", ""))
	require.Equal(t, Result{Message: "the channel is not known"}, try("pigeon", ""))
	require.Equal(t, Result{Message: "the URL must be an http or https URL"}, try("webhook", ""))
	nan := math.NaN()
	n.CurrentPassRate = &nan
	require.Equal(t, Result{Message: "the notification could not be written"}, try("webhook", "http://127.0.0.1:1/"))
}

// Whatever a skill is called, it stays a name: no mention, no link, no markup, no second line.
func TestNamesAreOnlyNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"<!channel>", "<!here|x>", "<@U123>", "@everyone", "@here", "<@&1>", "<https://evil.example|click>", "[click](https://evil.example)",
		"`<!channel>`", "``` @everyone", "a`b` @everyone", "*b* _i_ ~s~", "https://evil.example", "&lt;!channel&gt;",
		"a\r\nBcc: x@example.com", "a\u2028b\u202ec", "<b>bold</b>", "\\` @everyone",
	} {
		n := notice("pass_rate_below", "firing")
		n.Skill = name
		a := chatA(n)
		text := a["text"].(string)
		span, _, found := strings.Cut(text, " passes 42% of")
		require.True(t, found)
		require.Regexp(t, "^`[^`<>\n]+`$", span)
		require.NotRegexp(t, `&(?:[^alg]|a[^m]|l[^t]|g[^t])`, span)
		b := chatB(n)
		require.Regexp(t, "^`[^`\n]+` passes 42% of", b["content"])
		require.Equal(t, object{"parse": []string{}}, b["allowed_mentions"])
		require.Regexp(t, "^Alert when `[^`\n]+` passes less", b["embeds"].([]object)[0]["description"])
	}
	n := Notice{Skill: strings.Repeat("é", 5000)}
	require.Equal(t, strings.Repeat("é", 100)+"…", n.name(strings.Clone))
	require.Equal(t, "any skill", Notice{Skill: " \n\u200b"}.name(strings.ToUpper))
	n.Link = "https://x.example/a|b>&c"
	require.Contains(t, chatA(n)["blocks"].([]object)[2]["elements"].([]object)[0]["text"], "<https://x.example/a%7Cb%3E&amp;c|Open in skillgraph>")
}

func TestWords(t *testing.T) {
	t.Parallel()
	f := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		n    Notice
		want string
	}{
		{Notice{State: "firing", Threshold: .75, CurrentPassRate: f(.42)}, "pdf passes 42% of its graded sessions, below the threshold of 75%"},
		{Notice{State: "firing", Threshold: .75, CurrentPassRate: f(.7483)}, "pdf passes 74.8% of its graded sessions, below the threshold of 75%"},
		{Notice{State: "firing", Threshold: .75, CurrentPassRate: f(.74999)}, "pdf passes 74.999% of its graded sessions, below the threshold of 75%"},
		{Notice{State: "firing", Threshold: .755, CurrentPassRate: f(0), Reminder: true}, "pdf still passes 0% of its graded sessions, below the threshold of 75.5%"},
		{Notice{State: "firing", Threshold: 1. / 3}, "pdf is below the threshold of 33.3333%"},
		{Notice{State: "resolved", Threshold: .75, CurrentPassRate: f(.75)}, "pdf passes 75% of its graded sessions, no longer below the threshold of 75%"},
		{Notice{State: "resolved", Threshold: .75}, "pdf is no longer below the threshold of 75%"},
		{Notice{Type: "no_data", State: "firing", Threshold: 7, DaysWithoutData: f(8.2381)}, "pdf: no session for 8.2 days (alert after 7)"},
		{Notice{Type: "no_data", State: "firing", Threshold: 0, DaysWithoutData: f(1.01)}, "pdf: no session for 1 day (alert after 1)"},
		{Notice{Type: "no_data", State: "firing", Threshold: 7.25, DaysWithoutData: f(8), Reminder: true}, "pdf: still no session for 8 days (alert after 7.25)"},
		{Notice{Type: "no_data", State: "firing", Threshold: 7}, "pdf: no session for at least 7 days"},
		{Notice{Type: "no_data", State: "resolved", Threshold: 7}, "pdf has sessions again"},
		{Notice{Type: "no_data", State: "test", Threshold: 7}, "This is a test of the alert on pdf: the channel works"},
	} {
		require.Equal(t, c.want, c.n.text("pdf"))
	}
}

// Secrets, passwords, URLs and the receiver's words stay out of results and logs, whatever goes wrong.
func TestNothingLeaks(t *testing.T) {
	var logs bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logs, nil))) // the log package writes here, too
	defer slog.SetDefault(old)
	stderr := os.Stderr
	r, w, err := os.Pipe()
	require.NoError(t, err)
	os.Stderr = w

	words := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "LEAK-words", http.StatusInternalServerError)
	})
	box := mailbox(t, sink{login: true})
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	var said []string
	for _, target := range []Target{
		{Channel: "webhook", URL: words + "/LEAK-path", Secret: "LEAK-secret"},
		{Channel: "chat_a", URL: "http://LEAK-host.invalid/LEAK-path"},
		{Channel: "chat_b", URL: "https://LEAK-user:LEAK-pass@127.0.0.1/"},
		{Channel: "webhook", URL: "http://10.0.0.1/LEAK-path", Secret: "LEAK-secret"},
		{Channel: "webhook", URL: "::LEAK\x00", Secret: "LEAK-secret"},
		{Channel: "webhook", URL: strings.Replace(words, "http:", "https:", 1) + "/LEAK-path"},
		{Channel: "email", Email: "LEAK@example.com"},
		{Channel: "email", Email: "LEAK"},
	} {
		for _, ctx := range []context.Context{t.Context(), cut} {
			s := sender(t, MailConfig{URL: "smtp://LEAK-user:LEAK-pass@" + box.addr, From: "alerts@example.com"})
			got := s.Send(ctx, target, notice("no_data", "firing"))
			require.False(t, got.Delivered)
			require.NotEmpty(t, got.Message)
			said = append(said, got.Message)
		}
	}
	for _, bad := range []string{"smtp://LEAK:LEAK%@host", "ftp://LEAK:LEAK@host", "smtp://LEAK:LEAK@", "smtp://LEAK:LEAK@host?LEAK"} {
		_, err := New(nil, MailConfig{URL: bad, From: "alerts@example.com"}, time.Now)
		require.Error(t, err, bad)
		said = append(said, err.Error())
	}
	os.Stderr = stderr
	require.NoError(t, w.Close())
	printed, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NotContains(t, strings.Join(said, "\n")+logs.String()+string(printed), "LEAK")
}
