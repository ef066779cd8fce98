<?php
declare(strict_types=1);
/*
 * Notes in files, without a database: `notes/3.txt` begins with its title, `notes/3.comments`
 * has a line of JSON for each comment. `cache/` and `counter.txt` are written by every reading.
 */

final class Notes
{
    public function __construct(private readonly string $folder)
    {
        foreach (["$folder/notes", "$folder/cache"] as $own) {
            if (!is_dir($own) && !@mkdir($own, 0700, true) && !is_dir($own)) {
                throw new RuntimeException("the folder $own can't be made");
            }
        }
        if (!is_file("$folder/notes/1.txt")) {
            $this->while_locked('notes', fn () => is_file("$folder/notes/1.txt") || $this->fill());
        }
    }

    public function all(): array
    {
        $ids = array_map(fn ($file) => (int) basename($file), glob("$this->folder/notes/*.txt"));
        sort($ids);
        return array_map($this->note(...), $ids);
    }

    public function note(int $id): ?array
    {
        $text = @file_get_contents("$this->folder/notes/$id.txt");
        if ($text === false) {
            return null;
        }
        [$title, $body] = explode("\n", $text, 2) + ['', ''];
        return ['id' => $id, 'title' => $title, 'body' => trim($body)];
    }

    public function search(string $word): array
    {
        $is_found = fn ($note) => stripos("{$note['title']}\n{$note['body']}", $word) !== false;
        return array_values(array_filter($this->all(), $is_found));
    }

    public function comments(int $id): array
    {
        $lines = @file("$this->folder/notes/$id.comments", FILE_IGNORE_NEW_LINES) ?: [];
        return array_map(fn ($line) => json_decode($line, true, 4, JSON_THROW_ON_ERROR), $lines);
    }

    /* Adds a comment and returns its number. */
    public function add_comment(int $id, string $author, string $body): int
    {
        return $this->while_locked('comments', function () use ($id, $author, $body) {
            $comment = ['id' => count($this->comments($id)) + 1, 'author' => $author, 'body' => $body];
            $line = json_encode($comment, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE) . "\n";
            file_put_contents("$this->folder/notes/$id.comments", $line, FILE_APPEND);
            return $comment['id'];
        });
    }

    /* The HTML of a text; the copy in the cache is renewed with each use, so that the old can be swept out. */
    public function rendered(string $text): string
    {
        $sum = md5($text);
        $folder = "$this->folder/cache/$sum[0]";
        is_dir($folder) || @mkdir($folder, 0700);
        $file = "$folder/$sum.html";
        $html = @file_get_contents($file) ?: paragraphs($text);
        $this->save($file, $html);
        return $html;
    }

    /* One reading more, and how many there were. */
    public function count(): int
    {
        $file = fopen("$this->folder/counter.txt", 'c+');
        flock($file, LOCK_EX);
        $count = (int) stream_get_contents($file) + 1;
        rewind($file);
        fwrite($file, (string) $count);
        fclose($file);
        return $count;
    }

    /* The first note comes last: it says that all are there. */
    private function fill(): void
    {
        foreach (array_reverse(require __DIR__ . '/../lib/posts.php', true) as $index => [$title, $body]) {
            $this->save("$this->folder/notes/" . $index + 1 . '.txt', "$title\n$body\n");
        }
    }

    /* Nobody ever reads half of a file. */
    private function save(string $file, string $text): void
    {
        $new = "$file." . getmypid();
        file_put_contents($new, $text);
        rename($new, $file);
    }

    private function while_locked(string $what, callable $act): mixed
    {
        $lock = fopen("$this->folder/$what.lock", 'c');
        flock($lock, LOCK_EX);
        try {
            return $act();
        } finally {
            fclose($lock);
        }
    }
}
