<?php
declare(strict_types=1);
/*
 * What a specimen remembers: posts, comments and a secret in one SQLite file, sessions beside it.
 *
 * The folder is the one that SPECIMEN_DATA names (server's or process's environment, or
 * specimen.data in php.ini), else one among the temporary files. Where SPECIMEN_DB_SOCKET names
 * a MariaDB's socket the tables are in there, in the database SPECIMEN_DB_NAME, for the user
 * SPECIMEN_DB_USER with SPECIMEN_DB_PASSWORD. They are made and filled at the first request.
 */

final class Data
{
    // Tables by name. NUMBERED is a key that counts up by itself.
    private const TABLES = [
        'posts' => 'id NUMBERED, title TEXT NOT NULL, body TEXT NOT NULL,
            views INTEGER NOT NULL DEFAULT 0, votes INTEGER NOT NULL DEFAULT 0,
            touched INTEGER NOT NULL DEFAULT 0',
        'comments' => 'id NUMBERED, post INTEGER NOT NULL REFERENCES posts (id),
            author TEXT NOT NULL, body TEXT NOT NULL',
        'settings' => 'name VARCHAR(64) NOT NULL PRIMARY KEY, value TEXT NOT NULL',
    ];

    public readonly string $folder;
    private ?PDO $database = null;

    /* $tables come beside those that all specimens have; $engine keeps them where MariaDB does. */
    public function __construct(
        private readonly string $name,
        private readonly array $tables,
        private readonly array $settings,
        private readonly string $engine,
    ) {
        $named = self::told('SPECIMEN_DATA') ?: get_cfg_var('specimen.data');
        $this->folder = $named ?: sys_get_temp_dir() . "/wick-specimen-$name";
        $this->make_folder($this->folder);
    }

    /* The folder for PHP's session files. */
    public function session_folder(): string
    {
        $folder = "$this->folder/sessions";
        $this->make_folder($folder);
        return $folder;
    }

    public function query(string $sql, array $values = []): PDOStatement
    {
        $this->database ??= $this->open();
        $statement = $this->database->prepare($sql);
        $statement->execute($values);
        return $statement;
    }

    public function posts(): array
    {
        return $this->query('SELECT * FROM posts ORDER BY id')->fetchAll();
    }

    public function post(int $id): ?array
    {
        return $this->query('SELECT * FROM posts WHERE id = ?', [$id])->fetch() ?: null;
    }

    public function search(string $word): array
    {
        $pattern = '%' . preg_replace('/[!%_]/', '!$0', $word) . '%';
        return $this->query(
            "SELECT * FROM posts WHERE title LIKE ? ESCAPE '!' OR body LIKE ? ESCAPE '!' ORDER BY id",
            [$pattern, $pattern]
        )->fetchAll();
    }

    public function comments(int $post): array
    {
        return $this->query('SELECT * FROM comments WHERE post = ? ORDER BY id', [$post])->fetchAll();
    }

    /* Adds a comment and returns its number. */
    public function add_comment(int $post, string $author, string $body): int
    {
        $this->query('INSERT INTO comments (post, author, body) VALUES (?, ?, ?)', [$post, $author, $body]);
        return (int) $this->database->lastInsertId();
    }

    /* Random bytes that only this installation knows, for tokens that are computed. */
    public function secret(): string
    {
        return $this->setting('secret');
    }

    /* A setting; empty if there is none. */
    public function setting(string $name): string
    {
        return $this->query('SELECT value FROM settings WHERE name = ?', [$name])->fetchColumn() ?: '';
    }

    public function set(string $name, string $value): void
    {
        $this->query('REPLACE INTO settings (name, value) VALUES (?, ?)', [$name, $value]);
    }

    /* A variable of the server or of the process; empty if there is none. */
    private static function told(string $name): string
    {
        return $_SERVER[$name] ?? (getenv($name) ?: '');
    }

    private function make_folder(string $folder): void
    {
        if (!is_dir($folder) && !@mkdir($folder, 0700, true) && !is_dir($folder)) {
            throw new RuntimeException("the folder $folder can't be made");
        }
    }

    /* Of several first requests one fills the database; the others wait at the lock. */
    private function open(): PDO
    {
        $lock = fopen("$this->folder/$this->name.lock", 'c+');
        flock($lock, LOCK_EX);
        $database = self::told('SPECIMEN_DB_SOCKET') === '' ? $this->open_file() : $this->open_server();
        if (fgets($lock) === false) {
            $this->fill($database);
            fwrite($lock, 'filled');
        }
        fclose($lock);
        return $database;
    }

    private function open_file(): PDO
    {
        $database = new PDO("sqlite:$this->folder/$this->name.sqlite", null, null, [
            PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
            PDO::ATTR_TIMEOUT => 10,
        ]);
        $database->exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF');
        return $database;
    }

    private function open_server(): PDO
    {
        return new PDO(
            'mysql:charset=utf8mb4;unix_socket=' . self::told('SPECIMEN_DB_SOCKET')
                . ';dbname=' . self::told('SPECIMEN_DB_NAME'),
            self::told('SPECIMEN_DB_USER'),
            self::told('SPECIMEN_DB_PASSWORD'),
            [PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC]
        );
    }

    private function fill(PDO $database): void
    {
        $is_server = $database->getAttribute(PDO::ATTR_DRIVER_NAME) === 'mysql';
        $numbered = $is_server ? 'INTEGER AUTO_INCREMENT PRIMARY KEY' : 'INTEGER PRIMARY KEY';
        foreach ([...self::TABLES, ...$this->tables] as $name => $columns) {
            $database->exec("CREATE TABLE $name (" . str_replace('NUMBERED', $numbered, $columns) . ')'
                . ($is_server ? " ENGINE = $this->engine" : ''));
        }
        $database->beginTransaction();
        $insert = $database->prepare('INSERT INTO posts (title, body) VALUES (?, ?)');
        foreach (require __DIR__ . '/posts.php' as [$title, $body]) {
            $insert->execute([$title, $body]);
        }
        $insert = $database->prepare('INSERT INTO settings (name, value) VALUES (?, ?)');
        foreach (['secret' => bin2hex(random_bytes(24)), ...$this->settings] as $name => $value) {
            $insert->execute([$name, $value]);
        }
        $database->commit();
    }
}
