<?php
declare(strict_types=1);
/*
 * The tables, in SQLite or MariaDB, by the names that TorrentPier 3 gives them.
 */

final class Tables
{
    private const COUNT = 'BIGINT NOT NULL DEFAULT 0';
    // Tables by name. NUMBERED counts up by itself, HASH is 20 bytes, COUNT a number of bytes.
    private const TABLES = [
        'bb_bt_users' => 'user_id NUMBERED, auth_key CHAR(20) NOT NULL UNIQUE, u_up_total COUNT,
            u_down_total COUNT',
        'bb_users' => 'user_id INTEGER NOT NULL PRIMARY KEY, username VARCHAR(32) NOT NULL UNIQUE,
            user_password VARCHAR(255) NOT NULL',
        'bb_bt_torrents' => 'topic_id NUMBERED, info_hash HASH NOT NULL UNIQUE, poster_id INTEGER NOT NULL,
            size COUNT, reg_time INTEGER NOT NULL, complete_count INTEGER NOT NULL DEFAULT 0,
            tor_status INTEGER NOT NULL DEFAULT 0, tor_type INTEGER NOT NULL DEFAULT 0',
        'topics' => 'topic_id INTEGER NOT NULL PRIMARY KEY, title VARCHAR(200) NOT NULL, metainfo BLOBS NOT NULL',
        'bb_bt_tracker' => "peer_hash VARCHAR(32) NOT NULL PRIMARY KEY, topic_id INTEGER NOT NULL,
            peer_id VARCHAR(20) NOT NULL DEFAULT '0', user_id INTEGER NOT NULL, ip VARCHAR(42), ipv6 VARCHAR(42),
            port INTEGER NOT NULL DEFAULT 0, seeder INTEGER NOT NULL DEFAULT 0, releaser INTEGER NOT NULL DEFAULT 0,
            tor_type INTEGER NOT NULL DEFAULT 0, uploaded COUNT, downloaded COUNT, remain COUNT, speed_up COUNT,
            speed_down COUNT, up_add COUNT, down_add COUNT, update_time INTEGER NOT NULL DEFAULT 0,
            complete INTEGER NOT NULL DEFAULT 0",
    ];

    private readonly PDO $database;
    private readonly bool $is_server;

    public function __construct()
    {
        $folder = self::told('SPECIMEN_DATA') ?: sys_get_temp_dir() . '/wick-specimen-tracker-site';
        if (!is_dir($folder) && !@mkdir($folder, 0700, true) && !is_dir($folder)) {
            throw new RuntimeException("the folder $folder can't be made");
        }
        $this->is_server = self::told('SPECIMEN_DB_SOCKET') !== '';
        $this->database = $this->is_server
            ? new PDO(
                'mysql:charset=utf8mb4;unix_socket=' . self::told('SPECIMEN_DB_SOCKET')
                    . ';dbname=' . self::told('SPECIMEN_DB_NAME'),
                self::told('SPECIMEN_DB_USER'),
                self::told('SPECIMEN_DB_PASSWORD')
            )
            : new PDO("sqlite:$folder/tracker-site.sqlite", null, null, [PDO::ATTR_TIMEOUT => 10]);
        $this->database->setAttribute(PDO::ATTR_DEFAULT_FETCH_MODE, PDO::FETCH_ASSOC);
        if (!$this->is_server) {
            $this->database->exec('PRAGMA journal_mode = WAL');
        }
        $this->make();
    }

    /* A variable of the server or of the process, else of settings.php, where that is. */
    public static function told(string $name): string
    {
        static $settings = null;
        $settings ??= is_file(__DIR__ . '/settings.php') ? require __DIR__ . '/settings.php' : [];
        return $_SERVER[$name] ?? (getenv($name) ?: ($settings[$name] ?? ''));
    }

    public function query(string $sql, array $values = []): PDOStatement
    {
        $statement = $this->database->prepare($sql);
        $statement->execute($values);
        return $statement;
    }

    public function last_number(): int
    {
        return (int) $this->database->lastInsertId();
    }

    /* Does all of it or nothing. Nobody else writes meanwhile in SQLite; in MariaDB rows that were read
       FOR_UPDATE stay as they are. */
    public function together(callable $work): void
    {
        $this->database->exec($this->is_server ? 'START TRANSACTION' : 'BEGIN IMMEDIATE');
        try {
            $work();
            $this->database->exec('COMMIT');
        } catch (Throwable $problem) {
            $this->database->exec('ROLLBACK');
            throw $problem;
        }
    }

    public function for_update(): string
    {
        return $this->is_server ? ' FOR UPDATE' : '';
    }

    private function make(): void
    {
        $words = $this->is_server
            ? ['NUMBERED' => 'INTEGER AUTO_INCREMENT PRIMARY KEY', 'HASH' => 'BINARY(20)',
                'BLOBS' => 'MEDIUMBLOB', 'COUNT' => str_replace('BIGINT', 'BIGINT UNSIGNED', self::COUNT)]
            : ['NUMBERED' => 'INTEGER PRIMARY KEY AUTOINCREMENT', 'HASH' => 'BLOB', 'BLOBS' => 'BLOB',
                'COUNT' => self::COUNT];
        foreach (self::TABLES as $name => $columns) {
            $columns = preg_replace_callback('/\b[A-Z]+\b/', fn ($word) => $words[$word[0]] ?? $word[0], $columns);
            $this->database->exec("CREATE TABLE IF NOT EXISTS $name ($columns)"
                . ($this->is_server ? ' ENGINE = InnoDB' : ''));
        }
    }
}
