/// The tables of the index. docs/disk-format.md describes each column.
enum IndexSchema {
    /// Identifies the file as an index of Spool (`PRAGMA application_id`): "Spol".
    static let applicationID: Int64 = 0x5370_6F6C

    /// The format that this program reads and writes, `PRAGMA user_version`.
    ///
    /// The number never goes back: a program that finds a number other than its own leaves the
    /// store as it is. Formats 1 to 8 belonged to builds before the first release.
    static let currentFormat = 9

    /// Makes the tables of an empty index. They never change after a release, because existing
    /// stores have them. A later format adds a step from this one.
    static let creation = """
        CREATE TABLE meta (
            name TEXT PRIMARY KEY,
            value ANY NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE resources (
            resource INTEGER PRIMARY KEY,
            key ANY NOT NULL UNIQUE,
            key_hash BLOB NOT NULL UNIQUE,
            url ANY NOT NULL,
            created INTEGER NOT NULL,
            last_access INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX resources_by_access ON resources (last_access);

        CREATE TABLE representations (
            generation INTEGER PRIMARY KEY,
            resource INTEGER NOT NULL,
            variant ANY NOT NULL DEFAULT '',
            is_current INTEGER NOT NULL,
            status INTEGER,
            length INTEGER,
            validator_kind INTEGER NOT NULL,
            validator ANY,
            header_block BLOB NOT NULL,
            request_time INTEGER NOT NULL,
            response_time INTEGER NOT NULL,
            content_coding TEXT,
            file_extension TEXT NOT NULL,
            cipher INTEGER NOT NULL DEFAULT 0,
            cipher_key BLOB,
            created INTEGER NOT NULL,
            facts_check INTEGER,
            file_hash BLOB
        ) STRICT;
        CREATE UNIQUE INDEX representations_current ON representations (resource, variant) WHERE is_current = 1;
        CREATE INDEX representations_by_resource ON representations (resource);

        CREATE TABLE pieces (
            generation INTEGER NOT NULL,
            lower INTEGER NOT NULL,
            upper INTEGER NOT NULL,
            epoch INTEGER NOT NULL,
            checks BLOB,
            nonce BLOB,
            tag BLOB,
            PRIMARY KEY (generation, lower)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE sizes (
            generation INTEGER PRIMARY KEY,
            allocated_bytes INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE unsynced (
            generation INTEGER PRIMARY KEY
        ) STRICT;

        CREATE TABLE pins (
            key_hash BLOB PRIMARY KEY,
            created INTEGER NOT NULL,
            key ANY
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE downloads (
            key_hash BLOB PRIMARY KEY,
            entry ANY NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE download_parts (
            key_hash BLOB NOT NULL,
            download BLOB NOT NULL,
            key ANY NOT NULL,
            PRIMARY KEY (key_hash, download)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX download_parts_by_download ON download_parts (download);
        """
}
