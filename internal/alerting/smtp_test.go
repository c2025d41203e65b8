package alerting

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
)

// sink says what a mail server of the tests does with a message.
type sink struct {
	login    bool          // asks for user "me", password "pa:ss/word"
	tls      bool          // offers STARTTLS
	implicit bool          // speaks TLS only
	rcpt     error         // its answer to the recipient
	delay    time.Duration // before it answers to the recipient
}

type mailed struct{ from, to, data string }

type inbox struct {
	addr  string
	mails chan mailed
	roots *x509.CertPool
}

// mailbox runs a real mail server on loopback.
func mailbox(t *testing.T, how sink) inbox {
	t.Helper()
	certs := httptest.NewTLSServer(nil)
	certs.Close()
	box := inbox{mails: make(chan mailed, 10), roots: x509.NewCertPool()}
	box.roots.AddCert(certs.Certificate())
	config := &tls.Config{Certificates: certs.TLS.Certificates, MinVersion: tls.VersionTLS12}
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) {
		return &session{sink: how, mails: box.mails}, nil
	}))
	s.AllowInsecureAuth = true
	s.ErrorLog = log.New(io.Discard, "", 0)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	box.addr = l.Addr().String()
	if how.tls {
		s.TLSConfig = config
	}
	if how.implicit {
		l = tls.NewListener(l, config)
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return box
}

type session struct {
	sink
	mails chan mailed
	mail  mailed
	known bool
}

func (s *session) AuthMechanisms() []string {
	if s.login {
		return []string{sasl.Plain}
	}
	return nil
}

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if s.known = user == "me" && password == "pa:ss/word"; !s.known {
			return &smtp.SMTPError{Code: 535, Message: "who is " + user + " with " + password}
		}
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.login && !s.known {
		return smtp.ErrAuthRequired
	}
	s.mail.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	time.Sleep(s.delay)
	s.mail.to = to
	return s.rcpt
}

func (s *session) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return errors.New("the message is incomplete")
	}
	s.mail.data = string(data)
	s.mails <- s.mail
	return nil
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }
