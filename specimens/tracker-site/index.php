<?php
declare(strict_types=1);
/*
 * A private tracker's site: sign up, upload, list, details with peers, a member's totals.
 * Start at `TrackerSite::answer`.
 */

require __DIR__ . '/tables.php';
require __DIR__ . '/metainfo.php';

function escape(string|int $text): string
{
    return htmlspecialchars((string) $text, ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8');
}

final class TrackerSite
{
    private const METAINFO_BYTES_MAX = 2_000_000;
    private readonly Tables $tables;
    private ?array $member = null;

    public function answer(): void
    {
        $this->tables = new Tables();
        session_start(['use_strict_mode' => true, 'cookie_httponly' => true, 'cookie_samesite' => 'Lax']);
        header('Cache-Control: private, no-store');
        $this->member = $this->tables->query(
            'SELECT * FROM bb_users JOIN bb_bt_users USING (user_id) WHERE user_id = ?',
            [$_SESSION['member'] ?? 0]
        )->fetch() ?: null;
        $path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
        $request = $_SERVER['REQUEST_METHOD'] . ' ' . ($path === '/index.php' ? '/' : $path);
        $number = (int) ($_GET['id'] ?? 0);
        if ($_SERVER['REQUEST_METHOD'] === 'POST' && !hash_equals($this->token(), (string) ($_POST['token'] ?? ''))) {
            $this->show('Too old', '<p>Please load the page again and retry.</p>', 403);
            return;
        }
        if ($this->member === null) {
            match ($request) {
                'POST /signup' => $this->sign_up(),
                'POST /login' => $this->log_in(),
                default => $this->welcome(),
            };
            return;
        }
        match ($request) {
            'GET /' => $this->torrents(),
            'GET /torrent' => $this->torrent($number),
            'GET /download' => $this->download($number),
            'GET /me' => $this->me(),
            'POST /upload' => $this->upload(),
            'POST /passkey' => $this->new_passkey(),
            'POST /logout' => $this->log_out(),
            default => $this->show('Not found', '<p>There is nothing here.</p>', 404),
        };
    }

    private function welcome(string $problem = ''): void
    {
        $forms = '';
        foreach (['signup' => 'Sign up', 'login' => 'Log in'] as $action => $words) {
            $forms .= "<h2>$words</h2>" . $this->form("/$action", $words,
                '<label>Name <input name="name" required maxlength="32"></label>
                 <label>Password <input name="password" type="password" required></label>');
        }
        $this->show('Members only', ($problem === '' ? '' : '<p>' . escape($problem) . '</p>') . $forms);
    }

    private function sign_up(): void
    {
        [$name, $password] = [trim((string) ($_POST['name'] ?? '')), (string) ($_POST['password'] ?? '')];
        if (!preg_match('/^[\w-]{1,32}$/D', $name) || strlen($password) < 6) {
            $this->welcome('A name has letters and digits, a password six letters or more.');
            return;
        }
        if ($this->tables->query('SELECT 1 FROM bb_users WHERE username = ?', [$name])->fetch()) {
            $this->welcome('This name is taken.');
            return;
        }
        $this->tables->together(function () use ($name, $password): void {
            $this->tables->query('INSERT INTO bb_bt_users (auth_key) VALUES (?)', [$this->passkey()]);
            $number = $this->tables->last_number();
            $this->tables->query(
                'INSERT INTO bb_users (user_id, username, user_password) VALUES (?, ?, ?)',
                [$number, $name, password_hash($password, PASSWORD_DEFAULT)]
            );
            $this->let_in($number);
        });
        $this->go('/');
    }

    private function log_in(): void
    {
        $name = (string) ($_POST['name'] ?? '');
        $row = $this->tables->query('SELECT * FROM bb_users WHERE username = ?', [$name])->fetch();
        if (!$row || !password_verify((string) ($_POST['password'] ?? ''), $row['user_password'])) {
            $this->welcome('Name and password are not these.');
            return;
        }
        $this->let_in((int) $row['user_id']);
        $this->go('/');
    }

    private function log_out(): void
    {
        $_SESSION = [];
        session_regenerate_id(true);
        $this->go('/');
    }

    private function torrents(): void
    {
        $rows = $this->tables->query(
            'SELECT topic_id, title, size, (SELECT COUNT(*) FROM bb_bt_tracker AS p WHERE p.topic_id = t.topic_id
                AND seeder = 1 AND update_time > 0) AS seeders, (SELECT COUNT(*) FROM bb_bt_tracker AS p
                WHERE p.topic_id = t.topic_id AND seeder = 0 AND update_time > 0) AS leechers
             FROM bb_bt_torrents AS t JOIN topics USING (topic_id) ORDER BY topic_id DESC LIMIT 100'
        )->fetchAll();
        $lines = array_map(fn ($row) => '<tr><td><a href="/torrent?id=' . escape($row['topic_id']) . '">'
            . escape($row['title']) . '</a><td>' . escape($row['size']) . '<td>' . escape($row['seeders']) . '<td>'
            . escape($row['leechers']), $rows);
        $this->show('Torrents', '<table><tr><th>Title<th>Bytes<th>Seeders<th>Leechers' . implode("\n", $lines)
            . '</table><h2>Upload</h2>' . $this->form('/upload', 'Upload', '<input type="file" name="file" required>'));
    }

    private function torrent(int $number): void
    {
        $row = $this->tables->query(
            'SELECT * FROM bb_bt_torrents JOIN topics USING (topic_id) WHERE topic_id = ?',
            [$number]
        )->fetch();
        if (!$row) {
            $this->show('Not found', '<p>There is no such torrent.</p>', 404);
            return;
        }
        $peers = $this->tables->query(
            'SELECT username, p.* FROM bb_bt_tracker AS p JOIN bb_users USING (user_id)
             WHERE topic_id = ? AND update_time > 0 ORDER BY update_time DESC LIMIT 100',
            [$number]
        )->fetchAll();
        $lines = array_map(fn ($peer) => '<tr><td>' . escape($peer['username']) . '<td>'
            . ($peer['seeder'] ? 'seeds' : 'lacks ' . escape($peer['remain']) . ' bytes') . '<td>'
            . escape($peer['speed_up']) . '<td>' . escape($peer['speed_down']), $peers);
        $this->show((string) $row['title'], '<p>' . escape($row['size']) . ' bytes, ' . bin2hex($row['info_hash'])
            . '</p><p><a href="/download?id=' . $number . '">Download</a></p>'
            . '<table><tr><th>Who<th>What<th>Bytes/s up<th>Bytes/s down' . implode("\n", $lines) . '</table>');
    }

    private function upload(): void
    {
        $file = $_FILES['file'] ?? [];
        $text = ($file['error'] ?? 1) === UPLOAD_ERR_OK && $file['size'] <= self::METAINFO_BYTES_MAX
            ? file_get_contents($file['tmp_name']) : '';
        try {
            $metainfo = Metainfo::made_private(Metainfo::read($text));
        } catch (UnexpectedValueException $problem) {
            $this->show('No torrent', '<p>' . escape($problem->getMessage()) . '</p>', 422);
            return;
        }
        $hash = Metainfo::hash($metainfo);
        $known = $this->tables->query('SELECT topic_id FROM bb_bt_torrents WHERE info_hash = ?', [$hash])->fetch();
        if ($known) {
            $this->go('/torrent?id=' . $known['topic_id']);
            return;
        }
        $number = 0;
        $this->tables->together(function () use ($metainfo, $hash, &$number): void {
            $insert = 'INSERT INTO bb_bt_torrents (info_hash, poster_id, size, reg_time) VALUES (?, ?, ?, ?)';
            $this->tables->query($insert, [$hash, $this->member['user_id'], Metainfo::bytes($metainfo), time()]);
            $number = $this->tables->last_number();
            $title = mb_substr(mb_scrub($metainfo['info']['name']), 0, 200);
            $insert = 'INSERT INTO topics (topic_id, title, metainfo) VALUES (?, ?, ?)';
            $this->tables->query($insert, [$number, $title, Metainfo::written($metainfo)]);
        });
        $this->go("/torrent?id=$number");
    }

    /* The torrent with the member's own passkey in its address. */
    private function download(int $number): void
    {
        $row = $this->tables->query('SELECT metainfo FROM topics WHERE topic_id = ?', [$number])->fetch();
        if (!$row) {
            $this->show('Not found', '<p>There is no such torrent.</p>', 404);
            return;
        }
        $announce = Tables::told('TRACKER_ANNOUNCE') ?: 'http://127.0.0.1:2710/announce';
        $metainfo = Metainfo::read($row['metainfo']) + ['announce' => "$announce?uk={$this->member['auth_key']}"];
        header('Content-Type: application/x-bittorrent');
        header("Content-Disposition: attachment; filename=\"$number.torrent\"");
        echo Metainfo::written($metainfo);
    }

    private function me(): void
    {
        $added = $this->tables->query(
            'SELECT COALESCE(SUM(up_add), 0) AS up, COALESCE(SUM(down_add), 0) AS down FROM bb_bt_tracker WHERE user_id = ?',
            [$this->member['user_id']]
        )->fetch();
        $up = (int) $this->member['u_up_total'] + (int) $added['up'];
        $down = (int) $this->member['u_down_total'] + (int) $added['down'];
        $ratio = $down > 0 ? number_format($up / $down, 2) : '–';
        $this->show('What you gave', "<p>Sent: <b id=\"up\">$up</b> bytes. Taken: <b id=\"down\">$down</b> bytes. Ratio: $ratio.</p>"
            . $this->form('/passkey', 'Get a new passkey') . $this->form('/logout', 'Log out'));
    }

    private function new_passkey(): void
    {
        $this->tables->query(
            'UPDATE bb_bt_users SET auth_key = ? WHERE user_id = ?',
            [$this->passkey(), $this->member['user_id']]
        );
        $this->go('/me');
    }

    private function passkey(): string
    {
        return bin2hex(random_bytes(10));
    }

    private function let_in(int $member): void
    {
        session_regenerate_id(true);
        $_SESSION = ['member' => $member];
    }

    private function token(): string
    {
        return $_SESSION['token'] ??= bin2hex(random_bytes(16));
    }

    private function form(string $action, string $words, string $fields = ''): string
    {
        return "<form method=\"post\" action=\"$action\" enctype=\"multipart/form-data\">$fields"
            . '<input type="hidden" name="token" value="' . $this->token() . "\"><button>$words</button></form>";
    }

    private function go(string $to): void
    {
        header("Location: $to", true, 303);
    }

    private function show(string $title, string $body, int $status = 200): void
    {
        http_response_code($status);
        $title = escape($title);
        $links = $this->member === null ? '' : '<a href="/">Torrents</a> <a href="/me">' . escape($this->member['username']) . '</a>';
        echo "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>$title</title><nav>$links</nav><h1>$title</h1>$body</html>";
    }
}

(new TrackerSite())->answer();
