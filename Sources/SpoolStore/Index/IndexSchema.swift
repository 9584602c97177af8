/// The tables of the index, as a list of migrations. docs/disk-format.md describes each column.
enum IndexSchema {
    /// A step from one format to the next. A migration never changes after its release, because
    /// existing stores have already applied it.
    struct Migration {
        /// The format after the step, `PRAGMA user_version`.
        var number: Int
        var name: String
        var statements: String
    }

    /// Identifies the file as an index of Spool (`PRAGMA application_id`): "Spol".
    static let applicationID: Int64 = 0x5370_6F6C

    /// The format that this program writes.
    static var currentFormat: Int { migrations.count }

    static let migrations = [
        Migration(
            number: 1, name: "resources, representations and pieces",
            statements: """
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
                    created INTEGER NOT NULL
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
                    resource INTEGER PRIMARY KEY,
                    created INTEGER NOT NULL
                ) STRICT;
                """),
        // A plain store does not change. The number keeps programs without support for keys from
        // opening an encrypted store.
        Migration(number: 2, name: "encryption", statements: ""),
        Migration(
            number: 3, name: "a check of what is said of a version",
            statements: "ALTER TABLE representations ADD COLUMN facts_check INTEGER"),
        Migration(
            number: 4, name: "pins are of keys",
            statements: """
                ALTER TABLE pins RENAME TO pins_of_resources;
                CREATE TABLE pins (
                    key_hash BLOB PRIMARY KEY,
                    created INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                INSERT INTO pins SELECT key_hash, pins_of_resources.created FROM pins_of_resources JOIN resources USING (resource);
                DROP TABLE pins_of_resources;
                """),
        Migration(
            number: 5, name: "another key for an encrypted store",
            statements: """
                ALTER TABLE representations ADD COLUMN file_hash BLOB;
                ALTER TABLE pins ADD COLUMN key ANY;
                """),
        // The status is a line of the header block. The number keeps programs that would take a
        // stored 404 for the resource from opening the store.
        Migration(number: 6, name: "responses of other statuses", statements: ""),
        // The header block may have the mark of a variant. The number keeps programs that would
        // serve a variant to every client from opening the store.
        Migration(number: 7, name: "variants", statements: ""),
        Migration(
            number: 8, name: "downloads",
            statements: """
                CREATE TABLE downloads (
                    key_hash BLOB PRIMARY KEY,
                    entry ANY NOT NULL
                ) STRICT, WITHOUT ROWID;
                """),
        Migration(
            number: 9, name: "parts of downloads",
            statements: """
                CREATE TABLE download_parts (
                    key_hash BLOB NOT NULL,
                    download BLOB NOT NULL,
                    key ANY NOT NULL,
                    PRIMARY KEY (key_hash, download)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX download_parts_by_download ON download_parts (download);
                """),
    ]
}
