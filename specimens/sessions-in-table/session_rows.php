<?php
declare(strict_types=1);
/*
 * PHP's sessions, kept as rows of the table `sessions`.
 */

final class SessionRows implements SessionHandlerInterface
{
    private const LIFE_SECONDS = 1800;
    // One in so many writings tidies up.
    private const TIDY_EACH = 20;

    public function __construct(private readonly Data $data)
    {
    }

    public function open(string $path, string $name): bool
    {
        return true;
    }

    public function close(): bool
    {
        return true;
    }

    public function read(string $id): string
    {
        return $this->data->query('SELECT data FROM sessions WHERE id = ?', [$id])->fetchColumn() ?: '';
    }

    public function write(string $id, string $data): bool
    {
        $this->data->query('REPLACE INTO sessions (id, data, seen) VALUES (?, ?, ?)', [$id, $data, time()]);
        if (random_int(1, self::TIDY_EACH) === 1) {
            $this->gc(self::LIFE_SECONDS);
        }
        return true;
    }

    public function destroy(string $id): bool
    {
        $this->data->query('DELETE FROM sessions WHERE id = ?', [$id]);
        return true;
    }

    public function gc(int $max_lifetime): int
    {
        return $this->data->query('DELETE FROM sessions WHERE seen < ?', [time() - $max_lifetime])->rowCount();
    }
}
