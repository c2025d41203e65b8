package archive

import (
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
)

func hostileTarGz() []hostile {
	honest := tgz(named("a")...)
	a := entry{name: "a", data: "x"}
	dir := func(name string) entry { return entry{name: name, kind: '5'} }
	many := func(e entry, n int) []byte { return tgz(slices.Repeat([]entry{e}, n)...) }
	return []hostile{
		{name: "nothing at all", made: nil, why: "is not a gzip file"},
		{name: "not gzip", made: []byte("a sentence, not an archive"), why: "is not a gzip file"},
		{name: "a tar without gzip", made: tarOf(a), why: "is not a gzip file"},
		{name: "a zip", made: zips("a"), why: "is not a gzip file"},
		{name: "gzip of nothing", made: gz(), why: "is not a readable tar archive, or it is cut off"},
		{name: "gzip of text", made: gz([]byte(strings.Repeat("not a tar. ", 100))), why: "is not a readable tar archive"},
		{name: "gzip header only", made: honest[:10], why: "is not a readable tar archive, or it is cut off"},
		{name: "cut off in the compressed data", made: honest[:len(honest)-20], why: "cut off"},
		{name: "cut off in the trailer", made: honest[:len(honest)-1], why: "is damaged or cut off"},
		{name: "without a trailer", made: honest[:len(honest)-8], why: "is damaged or cut off"},
		{name: "wrong checksum", made: changed(honest, len(honest)-8), why: "is damaged or cut off"},
		{name: "wrong length", made: changed(honest, len(honest)-4), why: "is damaged or cut off"},
		{name: "damaged in the middle", made: changed(gzAt(gzip.NoCompression, tarOf(a)), 600), why: "damaged"},
		{name: "a second member", made: append(slices.Clone(honest), honest...), why: "has something after its end"},
		{name: "an empty second member", made: append(slices.Clone(honest), gz()...), why: "has something after its end"},
		{name: "a tar in two members", made: append(gz(cutTar(a)), gz(endOfTar)...), why: "cut off"},
		{name: "text after the end", made: append(slices.Clone(honest), "more"...), why: "has something after its end"},
		{name: "zeros after the end", made: append(slices.Clone(honest), 0, 0, 0, 0), why: "has something after its end"},
		{name: "text after the tar", made: gz(tarOf(a), []byte("more")), why: "has something after the end of its tar"},
		{name: "a second tar", made: gz(tarOf(a), tarOf(entry{name: "b"})), why: "has something after the end of its tar"},
		{name: "tar without an end", made: gz(cutTar(a)), why: "is not a readable tar archive, or it is cut off"},
		{name: "tar with half an end", made: gz(cutTar(a), make([]byte, block)), why: "cut off"},
		{name: "zeros as content and no end", made: gz(cutTar(entry{name: "a", data: strings.Repeat("\x00", 4*block)})), why: "cut off"},
		{name: "cut off in a header", made: gz(tarOf(a)[:100]), why: "cut off"},
		{name: "cut off in a file", made: gz(entry{name: "a", data: strings.Repeat("x", 5000)}.raw()[:2000]), why: `"a" is damaged or cut off`},
		{name: "an end of one zero block and a file", made: gz(cutTar(a), make([]byte, block), tarOf(a)), why: "is not a readable tar archive"},
		{name: "wrong checksum of a header", made: tgz(entry{name: "a", bad: true}), why: "is not a readable tar archive"},
		{name: "size below zero", made: tgz(entry{name: "a", size: "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"}), why: "is not a readable tar archive"},
		{name: "size that is no number", made: tgz(entry{name: "a", size: "a hundred..."}), why: "is not a readable tar archive"},

		{name: "parent folder", made: tgz(named("../x")...), why: `"../x" is refused: a path must not have the component ".."`},
		{name: "parent folder inside", made: tgz(named("a/../../x")...), why: `the component ".."`},
		{name: "parent folder alone", made: tgz(named("..")...), why: `the component ".."`},
		{name: "parent folder after ./", made: tgz(named("./../x")...), why: `the component ".."`},
		{name: "absolute", made: tgz(named("/etc/passwd")...), why: `"/etc/passwd" is refused: a path must be relative`},
		{name: "absolute after ./", made: tgz(named(".//etc/passwd")...), why: "a path must be relative"},
		{name: "absolute by PAX", made: tgz(pax("path", "/etc/passwd"), a), why: "a path must be relative"},
		{name: "empty component", made: tgz(named("a//b")...), why: "an empty component"},
		{name: "component .", made: tgz(named("a/./b")...), why: `the component "."`},
		{name: "./ twice", made: tgz(named("././a")...), why: `the component "."`},
		{name: "file with the name .", made: tgz(named(".")...), why: `the component "."`},
		{name: "file that is called a folder", made: tgz(named("a/")...), why: "an empty component"},
		{name: "no name", made: tgz(named("")...), why: "a path must not be empty"},
		{name: "backslash", made: tgz(named(`a\b`)...), why: "a backslash"},
		{name: "drive", made: tgz(named(`C:\windows\x`)...), why: "a backslash"},
		{name: "line break", made: tgz(named("a\nb")...), why: `"a\nb" is refused: a path must not have a control character`},
		{name: "escape", made: tgz(named("a\x1b[2Jb")...), why: "a control character"},
		{name: "delete", made: tgz(named("a\x7f")...), why: "a control character"},
		{name: "next line", made: tgz(named("a\u0085b")...), why: "a control character"},
		{name: "Latin 1", made: tgz(named("Gr\xf6\xdfe")...), why: "a path must be UTF-8"},
		{name: "surrogate", made: tgz(named("a\xed\xa0\x80")...), why: "a path must be UTF-8"},
		{name: "long path", made: tgz(named(strings.Repeat("abcdefgh/", 29) + strings.Repeat("x", 252))...), why: "a path has at most 512 bytes"},
		{name: "long component", made: tgz(named(strings.Repeat("x", 256))...), why: "a component of a path has at most 255 bytes"},
		{name: "deep path", made: tgz(named(strings.Repeat("a/", 32) + "b")...), why: "a path has at most 32 components"},
		{name: "folder elsewhere", made: tgz(dir("../x/")), why: `the component ".."`},
		{name: "root folder", made: tgz(dir("/")), why: "a path must not be empty"},
		{name: "folder with a control character", made: tgz(dir("a\tb/")), why: "a control character"},
		{name: "folder with content", made: tgz(entry{name: "a/", kind: '5', data: "x"}), why: "a folder has no content of its own"},

		{name: "twice", made: tgz(named("a", "a")...), why: `"a" is refused: it is there twice`},
		{name: "twice with ./", made: tgz(named("a", "./a")...), why: "it is there twice"},
		{name: "case", made: tgz(named("SKILL.md", "skill.md")...), why: `"skill.md" is refused: it differs from "SKILL.md" by case alone`},
		{name: "case with an accent", made: tgz(named("Ärger", "ärger")...), why: "by case alone"},
		{name: "case in Greek", made: tgz(named("ΣΑΣ", "σας")...), why: "by case alone"},
		{name: "Kelvin", made: tgz(named("k", "\u212a")...), why: "by case alone"},
		{name: "accent written in two ways", made: tgz(named("caf\u00e9", "cafe\u0301")...), why: "by case alone"},
		{name: "case of a folder", made: tgz(named("Docs/a", "docs/b")...), why: `"docs/b" is refused: it differs from "Docs" by case alone`},
		{name: "case of folder entries", made: tgz(dir("A/"), dir("a/")), why: "by case alone"},
		{name: "file, then folder", made: tgz(named("a", "a/b")...), why: `"a/b" is refused: "a" is a file and a folder`},
		{name: "folder, then file", made: tgz(named("a/b", "a")...), why: `"a" is a file and a folder`},
		{name: "folder entry, then file", made: tgz(dir("a/"), a), why: `"a" is a file and a folder`},
		{name: "file, then folder entry", made: tgz(a, dir("a/")), why: `"a" is a file and a folder`},

		{name: "symbolic link", made: tgz(entry{name: "a", kind: '2'}), why: `"a" is refused: a link is not allowed`},
		{name: "hard link", made: tgz(a, entry{name: "b", kind: '1'}), why: "a link is not allowed"},
		{name: "character device", made: tgz(entry{name: "a", kind: '3'}), why: "only files and folders are allowed"},
		{name: "block device", made: tgz(entry{name: "a", kind: '4'}), why: "only files and folders are allowed"},
		{name: "pipe", made: tgz(entry{name: "a", kind: '6'}), why: "only files and folders are allowed"},
		{name: "contiguous file", made: tgz(entry{name: "a", kind: '7'}), why: "only files and folders are allowed"},
		{name: "kind of nobody", made: tgz(entry{name: "a", kind: 'Z'}), why: "only files and folders are allowed"},
		{name: "part of several volumes", made: tgz(entry{name: "a", kind: 'M'}), why: "only files and folders are allowed"},
		{name: "sparse, old GNU", made: tgz(gnuSparse()), why: "a sparse file is not allowed"},
		{name: "sparse, PAX 0.1", made: tgz(pax("GNU.sparse.major", "0", "GNU.sparse.minor", "1", "GNU.sparse.map", "0,1", "GNU.sparse.size", "9000000000000", "GNU.sparse.numblocks", "1"), a), why: "a sparse file is not allowed"},
		{name: "sparse, PAX 1.0", made: tgz(pax("GNU.sparse.major", "1", "GNU.sparse.minor", "0", "GNU.sparse.name", "a", "GNU.sparse.realsize", "9000000000000"), entry{name: "a", data: string(padded("1\n0\n1\n")) + "x"}), why: "a sparse file is not allowed"},

		{name: "larger than 50 MiB", made: gzAt(gzip.NoCompression, entry{name: "a", data: strings.Repeat("\x00", 51<<20)}.raw()), why: "The archive is larger than 50 MiB", code: errs.TooLarge},
		{name: "says that it unpacks to more", made: tgz(entry{name: "a", size: MaxUnpacked + 1}), why: "more than 200 MiB", code: errs.TooLarge},
		{name: "says that it unpacks to more together", made: tgz(entry{name: "a", data: strings.Repeat("x", 1000)}, entry{name: "b", size: MaxUnpacked - 999}), why: "more than 200 MiB", code: errs.TooLarge},
		{name: "says that it unpacks to everything", made: tgz(entry{name: "a", size: base256(1<<63 - 1)}), why: "more than 200 MiB", code: errs.TooLarge},
		{name: "says so by PAX", made: tgz(pax("size", "9223372036854775807"), a), why: "more than 200 MiB", code: errs.TooLarge},
		{name: "bomb", made: gz(entry{name: "a", data: strings.Repeat("\x00", 40<<20)}.raw(), endOfTar), why: "more than 200 times its size", code: errs.TooLarge},
		{name: "bomb after the end", made: gz(tarOf(a), make([]byte, 40<<20)), why: "more than 200 times its size", code: errs.TooLarge},
		{name: "many files", made: tgz(slices.Collect(numbered(MaxEntries + 1))...), why: "more than 10000 entries", code: errs.TooLarge},
		{name: "many folders", made: many(dir("a/"), MaxEntries+1), why: "more than 10000 entries", code: errs.TooLarge},
		{name: "many global headers", made: many(entry{name: "g", kind: 'g', data: "10 a=bcde\n"}, MaxEntries+1), why: "more than 10000 entries", code: errs.TooLarge},
		{name: "large PAX header", made: tgz(pax("comment", strings.Repeat("x", maxHeader)), a), why: "more than 64 KiB of headers", code: errs.TooLarge},
		{name: "large GNU name", made: tgz(named(strings.Repeat("a/", maxHeader/2))...), why: "more than 64 KiB of headers", code: errs.TooLarge},
		{name: "many PAX headers for one file", made: tgz(append(slices.Repeat([]entry{pax("comment", "x")}, 100), a)...), why: "more than 64 KiB of headers", code: errs.TooLarge},
	}
}

func gnuSparse() entry {
	e := entry{name: "a", kind: 'S', data: "x"}.raw()
	copy(e[257:], "ustar  \x00")
	copy(e[386:], "00000000000\x0000000000001\x00")
	copy(e[483:], "77777777777\x00")
	sign(e)
	return entry{as: e}
}

func base256(n uint64) string {
	b := make([]byte, 12)
	b[0] = 0x80
	binary.BigEndian.PutUint64(b[4:], n)
	return string(b)
}

func numbered(n int) func(func(entry) bool) {
	return func(yield func(entry) bool) {
		for i := range n {
			if !yield(entry{name: fmt.Sprint(i)}) {
				return
			}
		}
	}
}

// changed has another byte somewhere.
func changed(b []byte, at int) []byte {
	out := slices.Clone(b)
	out[at] ^= 0xff
	return out
}

func TestTarGzRefuses(t *testing.T) {
	t.Parallel()
	for _, h := range hostileTarGz() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, h, readTarGz(h.made))
		})
	}
}

func requireRefused(t *testing.T, h hostile, got seen) {
	t.Helper()
	require.Error(t, got.err)
	require.Contains(t, got.err.Error(), h.why)
	if h.code == "" {
		h.code = errs.Invalid
	}
	require.Equal(t, string(h.code), string(errs.CodeOf(got.err)))
	if strings.Contains(h.why, "times its size") {
		require.LessOrEqual(t, got.bytes, int64(ratioFrom)+1<<20, "a bomb is stopped early")
	}
}
