package blob

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
)

// s3Server names a program, versitygw, which serves a folder as S3. "make test/s3" gets it.
const s3Server = "SKILLGRAPH_TEST_S3"

// A bucket behaves as a folder does.
func TestS3(t *testing.T) {
	program := os.Getenv(s3Server)
	if program == "" {
		t.Skip("make test/s3 runs this against a server of S3")
	}
	dir := t.TempDir()
	addr := serveS3(t, program, dir)
	t.Setenv("AWS_ACCESS_KEY_ID", "someone")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "a secret of the test")
	suite(t, func(t *testing.T) place {
		t.Helper()
		bucket, err := os.MkdirTemp(dir, "bucket-")
		require.NoError(t, err)
		name := filepath.Base(bucket)
		at := "s3://" + name + "?region=us-east-1&use_path_style=true&prefix=archives/&endpoint=http://" + addr
		r, err := openS3(t.Context(), at)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, r.close()) })
		key := "archives/half"
		return place{
			url: at, dir: filepath.Join(bucket, "archives"),
			begun: func(t *testing.T) int {
				t.Helper()
				out, err := r.client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &name})
				require.NoError(t, err)
				return len(out.Uploads)
			},
			begin: func(t *testing.T) {
				t.Helper()
				_, err := r.client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &name, Key: &key})
				require.NoError(t, err)
			},
		}
	})
	t.Run("no such bucket", func(t *testing.T) {
		_, err := Open(t.Context(), "s3://nobodys?region=us-east-1&use_path_style=true&endpoint=http://"+addr, nil)
		require.ErrorContains(t, err, "the bucket nobodys is not there")
	})
}

// serveS3 runs the server on loopback until the test ends.
func serveS3(t *testing.T, program, dir string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := free.Addr().String()
	require.NoError(t, free.Close())
	c := exec.CommandContext(t.Context(), program, "--access", "someone", "--secret", "a secret of the test", "--port", addr, "--quiet",
		"posix", "--sidecar", t.TempDir(), dir)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 10 * time.Second
	c.Stderr = os.Stderr
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Wait() }) // the test's context ends first
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	return addr
}
