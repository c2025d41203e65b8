package archive

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
)

func hostileZip() []hostile {
	honest := zips("a", "b")
	text := strings.Repeat("some content ", 10)
	a, b := zipped{name: "a", data: text}, zipped{name: "b", data: text}
	lies := func(how func(*zipFile)) []byte {
		z := zipFile{entries: []zipped{a, b}}
		how(&z)
		return z.raw()
	}
	one := func(how func(*zipped)) []byte {
		e := a
		how(&e)
		return zipOf(e)
	}
	local := func(at int, v any) []byte { return one(func(e *zipped) { e.local = set(at, v) }) }
	central := func(at int, v any) []byte { return one(func(e *zipped) { e.central = set(at, v) }) }
	both := func(localAt, centralAt int, v any) []byte {
		return one(func(e *zipped) { e.local, e.central = set(localAt, v), set(centralAt, v) })
	}
	mode := func(m uint32) []byte { return one(func(e *zipped) { e.mode = m }) }
	end := func(at int, v any) []byte { return lies(func(z *zipFile) { z.end = set(at, v) }) }
	return []hostile{
		{name: "nothing at all", made: nil, why: "is not a zip archive, or it is cut off"},
		{name: "text", made: []byte(text), why: "is not a zip archive"},
		{name: "a tar.gz", made: tgz(named("a")...), why: "is not a zip archive"},
		{name: "the end of one alone", made: honest[len(honest)-endLength:], why: "does not end with its directory"},
		{name: "cut off", made: honest[:len(honest)-1], why: "is not a zip archive, or it is cut off"},
		{name: "cut off in the directory", made: honest[:len(honest)-30], why: "is not a zip archive, or it is cut off"},
		{name: "something after the end", made: lies(func(z *zipFile) { z.after = []byte("more") }), why: "has something after its end"},
		{name: "a second zip after the end", made: append(slices.Clone(honest), honest...), why: "does not end with its directory"},
		{name: "a comment that is cut off", made: end(20, uint16(10)), why: "has something after its end, or it is cut off"},
		{name: "a program before it", made: lies(func(z *zipFile) { z.before = []byte("#!/bin/sh\n") }), why: "has something before its first file"},
		{name: "a program before it, and offsets without it", made: append([]byte("#!/bin/sh\n"), honest...), why: "does not begin with its first file"},
		{name: "something after the directory", made: lies(func(z *zipFile) { z.gap = []byte("more") }), why: "does not end with its directory"},
		{name: "something in the directory", made: lies(func(z *zipFile) { z.junk = []byte(text) }), why: "has a directory with something else in it"},
		{name: "half a header in the directory", made: lies(func(z *zipFile) { z.junk = []byte("PK\x01\x02") }), why: "has a directory that is cut off"},
		{name: "a name that leaves the directory", made: central(28, uint16(1000)), why: "has a directory that is cut off"},
		{name: "fewer entries than it has", made: end(8, uint32(1<<16|1)), why: "says that it has 1 entries, and has 2"},
		{name: "more entries than it has", made: end(8, uint32(3<<16|3)), why: "says that it has 3 entries, and has 2"},
		{name: "first of two parts", made: end(8, uint16(1)), why: "is one part of several"},
		{name: "second part", made: end(4, uint16(1)), why: "is one part of several"},
		{name: "directory before the beginning", made: end(12, uint32(1<<20)), why: "does not end with its directory"},

		{name: "parent folder", made: zips("../x"), why: `"../x" is refused: a path must not have the component ".."`},
		{name: "absolute", made: zips("/etc/passwd"), why: "a path must be relative"},
		{name: "backslash", made: zips(`..\..\x`), why: "a backslash"},
		{name: "drive", made: zips(`C:\x`), why: "a backslash"},
		{name: "NUL", made: zips("a\x00.txt"), why: "a control character"},
		{name: "code page 437", made: zips("Gr\x94\xe1e.md"), why: "a path must be UTF-8"},
		{name: "no name", made: zips(""), why: "a path must not be empty"},
		{name: "empty component", made: zips("a//b"), why: "an empty component"},
		{name: "long path", made: zips(strings.Repeat("abcdefgh/", 29) + strings.Repeat("x", 252)), why: "a path has at most 512 bytes"},
		{name: "twice", made: zips("a", "a"), why: "it is there twice"},
		{name: "case", made: zips("SKILL.md", "Skill.md"), why: "by case alone"},
		{name: "case of folders", made: zips("A/", "a/"), why: "by case alone"},
		{name: "file and folder", made: zips("a", "a/"), why: `"a" is a file and a folder`},
		{name: "file below a file", made: zips("a", "a/b"), why: `"a" is a file and a folder`},
		{name: "folder with content", made: zipOf(zipped{name: "a/", data: text}), why: "a folder has no content of its own"},
		{name: "folder elsewhere", made: zips("../"), why: `the component ".."`},

		{name: "symbolic link", made: mode(0o120777), why: "a link is not allowed"},
		{name: "pipe", made: mode(0o010644), why: "only files and folders are allowed"},
		{name: "device", made: mode(0o020644), why: "only files and folders are allowed"},
		{name: "socket", made: mode(0o140644), why: "only files and folders are allowed"},
		{name: "link of another system", made: one(func(e *zipped) { e.mode, e.central = 0o120777, set(4, uint16(20)) }), why: "a link is not allowed"},
		{name: "folder without a slash", made: mode(0o040755), why: "the name of a folder must end with a slash"},

		{name: "encrypted", made: both(6, 8, uint16(1)), why: `"a" is refused: it is encrypted`},
		{name: "encrypted, it says in one place", made: local(6, uint16(1)), why: "the directory says otherwise of it"},
		{name: "strongly encrypted", made: both(6, 8, uint16(1<<6)), why: "it is encrypted"},
		{name: "masked", made: both(6, 8, uint16(1<<13)), why: "it is encrypted"},
		{name: "patch", made: both(6, 8, uint16(1<<5)), why: "only deflate and no compression are understood"},
		{name: "bzip2", made: both(8, 10, uint16(12)), why: "only deflate and no compression are understood"},
		{name: "deflate64", made: both(8, 10, uint16(9)), why: "only deflate and no compression are understood"},
		{name: "another method in the directory", made: local(8, uint16(0)), why: "the directory says otherwise of it"},
		{name: "another name in the directory", made: one(func(e *zipped) { e.central = nil; e.local = set(26, uint16(2)) }), why: "it has another name in the directory"},
		{name: "another size in the directory", made: local(22, uint32(7)), why: "the directory says otherwise of it"},
		{name: "another packed size in the directory", made: local(18, uint32(7)), why: "the directory says otherwise of it"},
		{name: "smaller than it says", made: both(22, 24, uint32(1000)), why: `"a" is damaged or cut off`},
		{name: "larger than it says", made: both(22, 24, uint32(10)), why: `"a" is damaged or cut off`},
		{name: "packed smaller than it says", made: zipOf(zipped{name: "a", data: text, local: set(18, uint32(4)), central: set(20, uint32(4))}), why: `"a" is damaged or cut off`},
		{name: "packed larger than there is", made: both(18, 20, uint32(1<<20)), why: `"a" is refused: it is larger than the archive`},
		{name: "stored with another size", made: one(func(e *zipped) { e.store, e.local, e.central = true, set(22, uint32(7)), set(24, uint32(7)) }), why: "its size is not what it says"},
		{name: "wrong checksum", made: both(14, 16, uint32(1)), why: `"a" is damaged or cut off`},
		{name: "damaged", made: changed(honest, localLength+5), why: `"a" is damaged or cut off`},

		{name: "two names for the same bytes", made: lies(func(z *zipFile) { z.entries[1].central = set(42, uint32(0)) }), why: "is refused"},
		{name: "one file inside another", made: nested(), why: "it overlaps another entry"},
		{name: "a file in the directory", made: lies(func(z *zipFile) {
			z.entries[1].local, z.entries[1].central = set(18, uint32(100)), set(20, uint32(100))
		}), why: `"b" is refused: it is larger than the archive`},
		{name: "not where the directory says", made: lies(func(z *zipFile) { z.entries[1].central = set(42, uint32(3)) }), why: "is refused"},
		{name: "beyond the end", made: lies(func(z *zipFile) { z.entries[1].central = set(42, uint32(1<<30)) }), why: `"b" is damaged or cut off`},

		{name: "larger than 50 MiB", made: make([]byte, MaxPacked+1), why: "larger than 50 MiB", code: errs.TooLarge},
		{name: "zip64", made: end(8, uint32(0xffffffff)), why: "zip64", code: errs.TooLarge},
		{name: "zip64 directory", made: end(16, uint32(0xffffffff)), why: "zip64", code: errs.TooLarge},
		{name: "zip64 marks", made: lies(func(z *zipFile) {
			z.gap = append(append([]byte("PK\x06\x06"), make([]byte, 52)...), append([]byte("PK\x06\x07"), make([]byte, 16)...)...)
		}), why: "does not end with its directory"},
		{name: "says that it has many", made: end(8, uint32(10001<<16|10001)), why: "more than 10000 entries", code: errs.TooLarge},
		{name: "has many, and does not say so", made: lies(func(z *zipFile) {
			z.entries = slices.Repeat([]zipped{{name: "a", store: true}}, MaxEntries+1)
			z.end = set(8, uint32(2<<16|2))
		}), why: "more than 10000 entries", code: errs.TooLarge},
		{name: "65,537 entries that say they are one", made: lies(func(z *zipFile) { z.junk = bytes.Repeat(directoryHeader(), 1<<16); z.entries = z.entries[:1] }), why: "more than 10000 entries", code: errs.TooLarge},
		{name: "large directory", made: lies(func(z *zipFile) { z.entries[0].extra, z.junk = make([]byte, 60_000), make([]byte, maxDirectory) }), why: "directory is larger than 8 MiB", code: errs.TooLarge},
		{name: "says that it unpacks to more", made: both(22, 24, uint32(MaxUnpacked+1)), why: "more than 200 MiB", code: errs.TooLarge},
		{name: "says that it unpacks to more together", made: lies(func(z *zipFile) { z.entries[1].central = set(24, uint32(MaxUnpacked)) }), why: "more than 200 MiB", code: errs.TooLarge},
		{name: "says by zip64 that it unpacks to everything", made: one(func(e *zipped) { e.central, e.extra = set(24, uint32(0xffffffff)), zip64(1<<63) }), why: "more than 200 MiB", code: errs.TooLarge},
		{name: "bomb", made: zipOf(zipped{name: "a", data: strings.Repeat("\x00", 40<<20)}), why: "more than 200 times its size", code: errs.TooLarge},
	}
}

// nested has a file whose bytes are a zip's file themselves, and lists both.
func nested() []byte {
	inner := zipOf(zipped{name: "b", data: "x", store: true})
	inner = inner[:localLength+2] // its header, name and content
	outer := zipFile{entries: []zipped{
		{name: "a", data: string(inner), store: true},
		{name: "b", data: "x", store: true, central: set(42, uint32(localLength+1))},
	}}
	return outer.raw()
}

func directoryHeader() []byte {
	return append([]byte("PK\x01\x02"), make([]byte, directoryLength-4)...)
}

func zip64(size uint64) []byte {
	out := []byte{1, 0, 8, 0}
	return binary.LittleEndian.AppendUint64(out, size)
}

func TestZipRefuses(t *testing.T) {
	t.Parallel()
	for _, h := range hostileZip() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, h, readZip(h.made))
		})
	}
}

// A comment is no garbage: code hosts put the commit there.
func TestZipComment(t *testing.T) {
	t.Parallel()
	comment := strings.Repeat("c", maxComment)
	got := readZip(zipFile{entries: []zipped{{name: "a", data: "x"}}, after: []byte(comment), end: set(20, uint16(len(comment)))}.raw())
	require.NoError(t, got.err)
	require.Equal(t, []string{"a"}, got.paths)
}

// Nothing of a zip is shown before all of its directory was looked at.
func TestZipShowsNothingOfABadOne(t *testing.T) {
	t.Parallel()
	require.Empty(t, readZip(zips("a", "../b")).paths)
}

func TestZipAsLargeAsItMayBe(t *testing.T) {
	t.Parallel()
	names := make([]string, MaxEntries)
	for i := range names {
		names[i] = fmt.Sprint("folder/", i)
	}
	got := readZip(zips(names...))
	require.NoError(t, got.err)
	require.Equal(t, names, got.paths)
}
