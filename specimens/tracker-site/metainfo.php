<?php
declare(strict_types=1);
/*
 * Torrent files: reading and writing bencode, and what a private tracker changes in them.
 */

final class Metainfo
{
    private const DEPTH_MAX = 32;
    private int $at = 0;

    private function __construct(private readonly string $text)
    {
    }

    /* The dictionary of a torrent file; what is none is refused. */
    public static function read(string $text): array
    {
        $reader = new self($text);
        $read = $reader->value(0);
        $info = is_array($read) ? ($read['info'] ?? null) : null;
        if ($reader->at !== strlen($text) || !is_array($info) || !is_string($info['name'] ?? null)) {
            throw new UnexpectedValueException('This is no torrent file.');
        }
        return $read;
    }

    /* The same torrent as a private one; of what it held beside the files only the name is kept. */
    public static function made_private(array $metainfo): array
    {
        $info = $metainfo['info'];
        $info['private'] = 1;
        ksort($info, SORT_STRING);
        return ['info' => $info];
    }

    public static function hash(array $metainfo): string
    {
        return sha1(self::written($metainfo['info']), true);
    }

    public static function bytes(array $metainfo): int
    {
        $info = $metainfo['info'];
        return (int) ($info['length'] ?? array_sum(array_column($info['files'] ?? [], 'length')));
    }

    public static function written(int|string|array $value): string
    {
        if (is_int($value)) {
            return "i{$value}e";
        }
        if (is_string($value)) {
            return strlen($value) . ":$value";
        }
        if (array_is_list($value)) {
            return 'l' . implode('', array_map(self::written(...), $value)) . 'e';
        }
        ksort($value, SORT_STRING);
        $parts = array_map(fn ($key) => self::written((string) $key) . self::written($value[$key]), array_keys($value));
        return 'd' . implode('', $parts) . 'e';
    }

    private function value(int $depth): int|string|array
    {
        $first = $this->text[$this->at] ?? '';
        if ($depth > self::DEPTH_MAX) {
            throw new UnexpectedValueException('This torrent file is too deep.');
        }
        if ($first === 'i' && preg_match('/\Gi(-?\d{1,18})e/', $this->text, $found, 0, $this->at)) {
            $this->at += strlen($found[0]);
            return (int) $found[1];
        }
        if ($first === 'l' || $first === 'd') {
            $this->at++;
            $list = [];
            while (($this->text[$this->at] ?? 'e') !== 'e') {
                if ($first === 'd') {
                    $key = $this->string();
                    $list[$key] = $this->value($depth + 1);
                } else {
                    $list[] = $this->value($depth + 1);
                }
            }
            $this->at++;
            return $list;
        }
        return $this->string();
    }

    private function string(): string
    {
        if (!preg_match('/\G(\d{1,8}):/', $this->text, $found, 0, $this->at)) {
            throw new UnexpectedValueException('This is no torrent file.');
        }
        $this->at += strlen($found[0]) + (int) $found[1];
        if ($this->at > strlen($this->text)) {
            throw new UnexpectedValueException('This torrent file breaks off.');
        }
        return substr($this->text, $this->at - (int) $found[1], (int) $found[1]);
    }
}
