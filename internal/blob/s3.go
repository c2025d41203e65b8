package blob

import (
	"context"
	"errors"
	"io"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // for s3://
	"gocloud.dev/gcerrors"
)

// remote is a bucket of an S3 service, with an object for every blob, under its hash.
type remote struct {
	*blob.Bucket
	client *s3.Client
	name   string
	prefix string // of the keys
}

const partSize = 5 << 20 // the least that S3 allows

func openS3(ctx context.Context, at string) (*remote, error) {
	b, err := blob.OpenBucket(ctx, at)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(at)
	r := &remote{Bucket: b, name: u.Host, prefix: u.Query().Get("prefix")}
	if err == nil && !b.As(&r.client) {
		err = errors.New("there is no client of S3")
	}
	if err == nil {
		var there bool
		if there, err = b.IsAccessible(ctx); err == nil && !there {
			err = errors.New("the bucket " + u.Host + " is not there, or may not be listed")
		}
	}
	if err != nil {
		_ = b.Close()
		return nil, err
	}
	return r, nil
}

func (r *remote) put(ctx context.Context, hash string, content io.Reader) error {
	// Upload gives up what it has sent when content fails. What is larger than a part is sent in parts, some of which are in memory.
	return r.Upload(ctx, hash, content, &blob.WriterOptions{ContentType: "application/octet-stream", BufferSize: partSize, MaxConcurrency: 2})
}

func (r *remote) open(ctx context.Context, hash string) (*Reader, error) {
	in, err := r.NewReader(ctx, hash, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, ErrMissing
	}
	if err != nil {
		return nil, err
	}
	return &Reader{in, in.Size(), in.ModTime()}, nil
}

func (r *remote) remove(ctx context.Context, hash string) error {
	err := r.Delete(ctx, hash)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil
	}
	return err
}

// sweep aborts uploads in parts that nobody finished: S3 keeps, and charges for, what was sent of them.
func (r *remote) sweep(ctx context.Context, before time.Time) error {
	pages := s3.NewListMultipartUploadsPaginator(r.client, &s3.ListMultipartUploadsInput{Bucket: &r.name, Prefix: &r.prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, u := range page.Uploads {
			if u.Initiated == nil || !u.Initiated.Before(before) {
				continue
			}
			if _, err := r.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &r.name, Key: u.Key, UploadId: u.UploadId}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *remote) close() error { return r.Close() }
