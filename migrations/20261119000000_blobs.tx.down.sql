DROP TABLE dead_blobs, blobs;
