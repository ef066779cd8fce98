<?php
declare(strict_types=1);
/*
 * What a specimen remembers: posts, comments and a secret in one SQLite file, sessions beside it.
 *
 * The folder is the one that SPECIMEN_DATA names (server's or process's environment, or
 * specimen.data in php.ini), else one among the temporary files. The database is made and
 * filled at the first request.
 */

final class Data
{
    public readonly string $folder;
    private ?PDO $database = null;

    public function __construct(private readonly string $name)
    {
        $named = $_SERVER['SPECIMEN_DATA'] ?? getenv('SPECIMEN_DATA') ?: get_cfg_var('specimen.data');
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
        $pattern = '%' . addcslashes($word, '%_\\') . '%';
        return $this->query(
            "SELECT * FROM posts WHERE title LIKE ? ESCAPE '\\' OR body LIKE ? ESCAPE '\\' ORDER BY id",
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
        return $this->query("SELECT value FROM settings WHERE name = 'secret'")->fetchColumn();
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
        $file = "$this->folder/$this->name.sqlite";
        $lock = fopen("$file.lock", 'c');
        flock($lock, LOCK_EX);
        $is_new = !is_file($file);
        $database = new PDO("sqlite:$file", null, null, [
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
            PDO::ATTR_TIMEOUT => 10,
        ]);
        $database->exec('PRAGMA synchronous = OFF');
        if ($is_new) {
            $database->exec('PRAGMA journal_mode = WAL');
            $database->beginTransaction();
            $this->fill($database);
            $database->commit();
        }
        fclose($lock);
        return $database;
    }

    private function fill(PDO $database): void
    {
        $database->exec(
            'CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL,
                views INTEGER NOT NULL DEFAULT 0, votes INTEGER NOT NULL DEFAULT 0);
             CREATE TABLE comments (id INTEGER PRIMARY KEY, post INTEGER NOT NULL REFERENCES posts,
                author TEXT NOT NULL, body TEXT NOT NULL);
             CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)'
        );
        $insert = $database->prepare('INSERT INTO posts (title, body) VALUES (?, ?)');
        foreach (require __DIR__ . '/posts.php' as [$title, $body]) {
            $insert->execute([$title, $body]);
        }
        $database->prepare("INSERT INTO settings (name, value) VALUES ('secret', ?)")
            ->execute([bin2hex(random_bytes(24))]);
    }
}
