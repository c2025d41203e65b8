package alerting

import (
	"errors"
	"io"
	"net"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
	gomail "github.com/wneessen/go-mail"
)

const from = "alerts@example.com"

func TestMailServers(t *testing.T) {
	t.Parallel()
	const misfit = "the mail server could not be used: its TLS or its login is not as configured"
	sent := Result{Status: 250, Message: "the mail server accepted the message", Delivered: true}
	for name, c := range map[string]struct {
		sink     sink
		scheme   string
		user     string
		query    string
		distrust bool
		want     Result
	}{
		"plain":                  {scheme: "smtp", want: sent},
		"login":                  {sink: sink{login: true}, scheme: "smtp", user: "me:pa%3Ass%2Fword@", want: sent},
		"login over STARTTLS":    {sink: sink{login: true, tls: true}, scheme: "smtp+starttls", user: "me:pa%3Ass%2Fword@", want: sent},
		"login over TLS":         {sink: sink{login: true, implicit: true}, scheme: "smtps", user: "me:pa%3Ass%2Fword@", want: sent},
		"STARTTLS where offered": {sink: sink{tls: true}, scheme: "smtp", want: sent},
		"STARTTLS required":      {sink: sink{tls: true}, scheme: "smtp", query: "?starttls=required", want: sent},
		"STARTTLS off":           {sink: sink{tls: true}, scheme: "smtp", query: "?starttls=off", distrust: true, want: sent},
		"STARTTLS not offered":   {scheme: "smtp+starttls", want: Result{Message: misfit}},
		"bad certificate":        {sink: sink{tls: true}, scheme: "smtp", distrust: true, want: Result{Message: misfit}},
		"bad certificate, smtps": {sink: sink{implicit: true}, scheme: "smtps", distrust: true, want: Result{Message: misfit}},
		"wrong password":         {sink: sink{login: true}, scheme: "smtp", user: "me:wrong@", want: Result{Status: 535, Message: "the mail server answered 535"}},
		"no login given":         {sink: sink{login: true}, scheme: "smtp", want: Result{Status: 502, Message: "the mail server answered 502"}},
		"no login wanted":        {scheme: "smtp", user: "me:x@", want: Result{Message: misfit}},
		"refuses the recipient":  {sink: sink{rcpt: &smtp.SMTPError{Code: 550, Message: "words"}}, scheme: "smtp", want: Result{Status: 550, Message: "the mail server answered 550"}},
		"refuses for now":        {sink: sink{rcpt: &smtp.SMTPError{Code: 451, Message: "words"}}, scheme: "smtp", want: Result{Status: 451, Message: "the mail server answered 451"}},
		"is slow":                {sink: sink{delay: 5 * time.Second}, scheme: "smtp", want: Result{Message: "the mail server did not answer within 2 s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box := mailbox(t, c.sink)
			s := sender(t, MailConfig{URL: c.scheme + "://" + c.user + box.addr + c.query, From: from})
			require.True(t, s.CanMail())
			s.mailer.total = 2 * time.Second
			if !c.distrust {
				s.mailer.tls.RootCAs = box.roots
			}
			start := time.Now()
			require.Equal(t, c.want, s.Send(t.Context(), Target{Channel: "email", Email: "team@example.com"}, notice("no_data", "firing")))
			require.Less(t, time.Since(start), 4*time.Second)
			if c.want.Delivered {
				require.Len(t, box.mails, 1)
				require.Equal(t, "team@example.com", (<-box.mails).to)
			} else {
				require.Empty(t, box.mails)
			}
		})
	}
}

// Servers that do not speak SMTP at all, or only for a while.
func TestMailServerIsBroken(t *testing.T) {
	t.Parallel()
	raw := func(greeting string, hold bool) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, greeting)
			if hold {
				_, _ = io.Copy(io.Discard, conn) // until the client gives up
			}
			_ = conn.Close()
		}()
		return l.Addr().String()
	}
	send := func(addr string) Result {
		s := sender(t, MailConfig{URL: "smtp://" + addr, From: from})
		s.mailer.total = 500 * time.Millisecond
		return s.Send(t.Context(), Target{Channel: "email", Email: "team@example.com"}, notice("no_data", "firing"))
	}
	require.Equal(t, Result{Message: "the mail server did not answer within 0.5 s"}, send(raw("", true)))
	require.Equal(t, Result{Message: "the mail server did not answer within 0.5 s"}, send(raw("220 hello\r\n", true)))
	require.Equal(t, Result{Status: 554, Message: "the mail server answered 554"}, send(raw("554 words\r\n", false)))
	require.NotEmpty(t, send(raw("HTTP/1.1 400 words\r\n", false)).Message)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	require.Equal(t, Result{Message: "no connection to the mail server"}, send(closed.Addr().String()))
}

// A password is not shown to a server that anyone on the way could be.
func TestMailKeepsPasswordFromPlainConnections(t *testing.T) {
	t.Parallel()
	box := mailbox(t, sink{login: true})
	s := sender(t, MailConfig{URL: "smtp://me:pa%3Ass%2Fword@" + box.addr, From: from})
	s.mailer.host = "::ffff:127.0.0.1" // not a spelling that is known to be this machine
	got := s.Send(t.Context(), Target{Channel: "email", Email: "team@example.com"}, notice("no_data", "firing"))
	require.Equal(t, Result{Message: "the mail server could not be used: its TLS or its login is not as configured"}, got)
	require.Empty(t, box.mails)
}

func TestMailHeadersCannotBeInjected(t *testing.T) {
	t.Parallel()
	box := mailbox(t, sink{})
	s := sender(t, MailConfig{URL: "smtp://" + box.addr, From: from})
	evil := "x\r\nBcc: evil@example.com\r\n\r\n<script>alert(1)</script> é\u202e"
	for _, inject := range []func(*Notice){
		func(n *Notice) { n.Skill = evil },
		func(n *Notice) { n.DeliveryID, n.IncidentID = evil, evil },
		func(n *Notice) { n.Link = "javascript:alert(1)//" + evil },
	} {
		n := notice("pass_rate_below", "firing")
		inject(&n)
		require.True(t, s.Send(t.Context(), Target{Channel: "email", Email: "Team <team@example.com>"}, n).Delivered)
		got := <-box.mails
		require.Equal(t, "team@example.com", got.to)
		m, err := mail.ReadMessage(strings.NewReader(got.data))
		require.NoError(t, err)
		require.Empty(t, m.Header["Bcc"])
		for _, h := range []string{"From", "To", "Subject", "Date", "Message-Id", "References", "Auto-Submitted", "Mime-Version", "Content-Type"} {
			require.Len(t, m.Header[h], 1, h)
		}
		require.Len(t, m.Header, 9)
		_, html, found := strings.Cut(got.data, "text/html")
		require.True(t, found)
		require.NotContains(t, html, "<script>")
		require.NotContains(t, html, `href=3D"javascript`)
	}
	for _, to := range []string{"", "team", "a@example.com, b@example.com", "a@example.com\r\nBcc: b@example.com", "a@example.com\nRCPT TO:<b@example.com>"} {
		require.Equal(t, Result{Message: "the e-mail address is not valid"}, s.Send(t.Context(), Target{Channel: "email", Email: to}, notice("no_data", "firing")), to)
	}
}

func TestMailConfig(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]struct {
		port     string
		policy   gomail.TLSPolicy
		implicit bool
	}{
		"smtp://h":                    {"25", gomail.TLSOpportunistic, false},
		"smtp://u:p@h:2525":           {"2525", gomail.TLSOpportunistic, false},
		"smtp://h?starttls=required":  {"25", gomail.TLSMandatory, false},
		"smtp://h:25/?starttls=off":   {"25", gomail.NoTLS, false},
		"smtp+starttls://u:p@h":       {"587", gomail.TLSMandatory, false},
		"smtp+starttls://u:p@h:10025": {"10025", gomail.TLSMandatory, false},
		"smtps://u:p@h":               {"465", gomail.TLSOpportunistic, true},
	} {
		m, err := newMailer(MailConfig{URL: url, From: "Alerts <a@example.com>"}, time.Now)
		require.NoError(t, err, url)
		require.Equal(t, want.port, m.port, url)
		require.Equal(t, want.policy, m.policy, url)
		require.Equal(t, want.implicit, m.implicit, url)
		require.Equal(t, 20*time.Second, m.total)
	}
	for _, bad := range []MailConfig{
		{"smtp://h", ""},
		{"smtp://h", "nobody"},
		{"h:25", from},
		{"http://h", from},
		{"smtp://", from},
		{"smtp://:25", from},
		{"smtp://u:p%@h", from},
		{"smtp://h?starttls=maybe", from},
		{"smtp://h?startls=required", from},
		{"smtps://h?starttls=off", from},
		{"smtp+starttls://h?starttls=off", from},
	} {
		_, err := New(nil, bad, time.Now)
		require.Error(t, err, bad.URL)
		require.NoError(t, errors.Unwrap(err))
	}
}
