package alerting

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html/template"
	"net"
	netmail "net/mail"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"github.com/wneessen/go-mail"
)

// MailConfig says how to send e-mail.
type MailConfig struct {
	// URL of the mail server: smtp://user:password@host:port takes TLS where the server offers it,
	// smtp+starttls:// (or smtp://…?starttls=required) insists on it, smtps:// begins with it, and
	// smtp://…?starttls=off never uses it. A password goes over TLS or to this machine only. "": no e-mail.
	URL  string
	From string // alerts@example.com, or Alerts <alerts@example.com>
}

// mailer talks to the operator's own mail server, which may well be on a private network: no guard is needed here.
type mailer struct {
	now      func() time.Time
	from     *netmail.Address
	host     string
	port     string
	user     *url.Userinfo // nil: no login
	implicit bool          // TLS from the first byte
	policy   mail.TLSPolicy
	tls      *tls.Config
	connect  time.Duration
	total    time.Duration
}

func newMailer(c MailConfig, now func() time.Time) (*mailer, error) {
	from, err := netmail.ParseAddress(c.From)
	if err != nil {
		return nil, errors.New("e-mail needs a sender such as alerts@example.com")
	}
	u, err := url.Parse(c.URL)
	if err != nil { // its words would repeat the URL, and with it the password
		return nil, errors.New("the URL of the mail server cannot be read: write special characters of the password as %XX")
	}
	port, known := map[string]string{"smtp": "25", "smtp+starttls": "587", "smtps": "465"}[u.Scheme]
	if !known || u.Hostname() == "" {
		return nil, errors.New("the URL of the mail server must look like smtp://user:password@host:port, smtp+starttls://… or smtps://…")
	}
	if u.Port() != "" {
		port = u.Port()
	}
	starttls := u.RawQuery
	if u.Scheme == "smtp+starttls" && starttls == "" {
		starttls = "starttls=required"
	}
	policy, known := map[string]mail.TLSPolicy{
		"": mail.TLSOpportunistic, "starttls=required": mail.TLSMandatory, "starttls=off": mail.NoTLS,
	}[starttls]
	if !known || u.Scheme != "smtp" && u.RawQuery != "" {
		return nil, errors.New("after the ? of the mail server's URL only smtp://…?starttls=required and ?starttls=off are known")
	}
	return &mailer{
		now: now, from: from, host: u.Hostname(), port: port, user: u.User, implicit: u.Scheme == "smtps", policy: policy,
		tls:     &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12},
		connect: 5 * time.Second, total: 20 * time.Second,
	}, nil
}

func (m *mailer) send(ctx context.Context, to string, n Notice) Result {
	msg, err := m.message(to, n)
	if err != nil {
		return Result{Message: "the e-mail address is not valid"}
	}
	limited, cancel := context.WithTimeout(ctx, m.total)
	defer cancel()
	client, err := m.client(limited)
	if err == nil {
		err = client.DialAndSendWithContext(limited, msg)
	}
	var refused *mail.SendError
	var answer *textproto.Error
	var dial *net.OpError
	switch {
	case msg.IsDelivered(): // a goodbye that fails afterwards changes nothing
		return Result{Status: 250, Message: "the mail server accepted the message", Delivered: true}
	case ctx.Err() != nil:
		return Result{Message: "the call was cut short"}
	case limited.Err() != nil:
		return Result{Message: fmt.Sprintf("the mail server did not answer within %g s", m.total.Seconds())}
	case errors.As(err, &refused) && refused.ErrorCode() != 0:
		return answered(refused.ErrorCode())
	case errors.As(err, &answer):
		return answered(answer.Code)
	case errors.As(err, &dial) && dial.Op == "dial":
		return Result{Message: "no connection to the mail server"}
	}
	return Result{Message: "the mail server could not be used: its TLS or its login is not as configured"}
}

func answered(code int) Result {
	return Result{Status: code, Message: fmt.Sprintf("the mail server answered %d", code)}
}

// client makes a client for one message. go-mail looks at the context only while it connects and leaves the connection
// open when a login fails, so the connection is closed with the context.
func (m *mailer) client(ctx context.Context) (*mail.Client, error) {
	dial := func(context.Context, string, string) (net.Conn, error) {
		plain := &net.Dialer{Timeout: m.connect}
		connect := plain.DialContext
		if m.implicit {
			connect = (&tls.Dialer{NetDialer: plain, Config: m.tls}).DialContext
		}
		conn, err := connect(ctx, "tcp", net.JoinHostPort(m.host, m.port))
		if err == nil {
			context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}
	options := []mail.Option{
		mail.WithDialContextFunc(dial), mail.WithTimeout(2 * m.total), // the context is the limit
		mail.WithTLSPolicy(m.policy), mail.WithTLSConfig(m.tls), mail.WithoutNoop(), mail.WithoutRset(),
	}
	if m.implicit {
		options = append(options, mail.WithSSL())
	}
	if m.user != nil {
		password, _ := m.user.Password()
		options = append(options, mail.WithUsername(m.user.Username()), mail.WithPassword(password),
			mail.WithOpportunisticSMTPAuth(mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthSCRAMSHA1, mail.SMTPAuthCramMD5, mail.SMTPAuthPlain, mail.SMTPAuthLogin))
	}
	return mail.NewClient(m.host, options...)
}

// message writes the mail. Names are on one line by now, and go-mail encodes whatever is not plain.
func (m *mailer) message(to string, n Notice) (*mail.Msg, error) {
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	msg.FromMailAddress(m.from)
	if err := msg.To(to); err != nil {
		return nil, err
	}
	domain := m.from.Address[strings.LastIndex(m.from.Address, "@")+1:]
	name := n.name(func(s string) string { return s })
	msg.Subject(n.title() + ": " + name)
	msg.SetDateWithValue(m.now().UTC())
	msg.SetMessageIDWithValue(n.DeliveryID + "@" + domain)
	if n.IncidentID != "" {
		msg.SetGenHeader(mail.HeaderReferences, "<"+n.IncidentID+"@"+domain+">") // one thread for one incident
	}
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // keeps absence notes from answering
	letter := letter{n.title(), n.text(name), n.rule(name), n.when(), n.Link, n.facts()}
	msg.SetBodyString(mail.TypeTextPlain, letter.plain())
	return msg, msg.AddAlternativeHTMLTemplate(page, letter)
}

type letter struct {
	Title, Text, Rule, When, Link string
	Facts                         []fact
}

func (l letter) plain() string {
	lines := []string{l.Text + ".", ""}
	for _, f := range l.Facts {
		lines = append(lines, f.Name+": "+f.Value)
	}
	lines = append(lines, l.When, "", l.Rule+".")
	if l.Link != "" {
		lines = append(lines, l.Link)
	}
	return strings.Join(lines, "\n") + "\n"
}

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><body style="font-family: sans-serif">
<h2>{{.Title}}</h2>
<p>{{.Text}}.</p>
<table>
{{- range .Facts}}
<tr><td>{{.Name}}</td><td><b>{{.Value}}</b></td></tr>
{{- end}}
</table>
<p>{{.When}}</p>
<p>{{.Rule}}.{{if .Link}} <a href="{{.Link}}">Open in skillgraph</a>{{end}}</p>
</body></html>
`))
