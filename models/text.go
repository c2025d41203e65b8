package models

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"skillgraph/internal/errs"
)

// checkText is the rule of every one-line label: min to max characters of UTF-8, none of them a control character.
func checkText(at errs.Path, s string, minLen, maxLen int) error {
	n := utf8.RuneCountInString(s)
	switch {
	case n < minLen || isBlank(s) && minLen > 0:
		return at.Because("must not be empty")
	case n > maxLen:
		return at.Because("must be at most %d characters long", maxLen)
	case !utf8.ValidString(s):
		return at.Because("must be UTF-8")
	case strings.IndexFunc(s, unicode.IsControl) >= 0:
		return at.Because("must not contain control characters")
	}
	return nil
}

// checkProse is the rule of a text that may have several lines.
func checkProse(at errs.Path, s string, maxLen int) error {
	switch {
	case utf8.RuneCountInString(s) > maxLen:
		return at.Because("must be at most %d characters long", maxLen)
	case !utf8.ValidString(s):
		return at.Because("must be UTF-8")
	case strings.IndexFunc(s, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) }) >= 0:
		return at.Because("must not contain control characters but for line ends and tabs")
	}
	return nil
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// NormalEmail checks an e-mail address and gives the form that is unique on the server.
func NormalEmail(at errs.Path, s string) (string, error) {
	a, err := mail.ParseAddress(s)
	if err != nil || a.Address != s || len(s) > 254 || !utf8.ValidString(s) || strings.IndexFunc(s, unicode.IsControl) >= 0 {
		return "", at.Because("must be an e-mail address, such as someone@example.com")
	}
	return strings.ToLower(s), nil
}

// IsLocalPath reports whether p is a relative path that stays where it starts: no empty, `.` or `..` component
// (a leading `./` is fine), no backslash, no control character.
func IsLocalPath(p string) bool {
	if strings.ContainsRune(p, '\\') || strings.IndexFunc(p, unicode.IsControl) >= 0 || !utf8.ValidString(p) {
		return false
	}
	for c := range strings.SplitSeq(strings.TrimPrefix(p, "./"), "/") {
		if c == "" || c == "." || c == ".." {
			return false
		}
	}
	return true
}
