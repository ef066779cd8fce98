<?php
declare(strict_types=1);
/*
 * An ordinary small site, as the specimens have it: a front page, posts with comments, a search,
 * a contact form, a log-in, an account with a private note.
 *
 * As it stands strangers get no session and no cache header, members get PHP's session with its
 * no-store, and members' forms bear a token. A specimen extends this class and changes one habit
 * by overriding one or two of the methods under "Habits". Start at `answer`.
 */

require __DIR__ . '/html.php';
require __DIR__ . '/data.php';

abstract class Site
{
    protected const TITLE = 'Lamp notes';
    protected const SESSION_COOKIE = 'PHPSESSID';
    // Tables beside those that all specimens have, settings that they begin with, and what keeps
    // them all where the database is a MariaDB.
    protected const TABLES = [];
    protected const SETTINGS = [];
    protected const ENGINE = 'InnoDB';
    // Names and password hashes. The password of ann is wonderland.
    private const MEMBERS = ['ann' => '$2y$10$8X8eJGII09/FfYNxfbgZ/OsVWLkBHfOvIYO48xjEp5LCy3gIxUa1e'];

    protected readonly Data $data;

    public function __construct()
    {
        // TokenEachHit is the specimen token-each-hit.
        $name = strtolower(preg_replace('/(?<=[a-z])(?=[A-Z])/', '-', static::class));
        $this->data = new Data($name, static::TABLES, static::SETTINGS, static::ENGINE);
    }

    public function answer(): void
    {
        $this->begin();
        if (is_post() && !$this->token_is_right()) {
            $this->show_problem(403, 'This form is too old. Please load the page again and retry.');
            return;
        }
        $request = (is_post() ? 'POST ' : 'GET ') . $this->path();
        foreach ($this->routes() as $pattern => $page) {
            if (preg_match("#^$pattern$#D", $request, $parts)) {
                $this->$page(...array_map(intval(...), array_slice($parts, 1)));
                return;
            }
        }
        $this->show_not_found();
    }

    /* Method and path as a pattern, and the method of this class that answers with its numbers. */
    protected function routes(): array
    {
        return [
            'GET /' => 'front',
            'GET /post/([1-9]\d{0,6})' => 'post',
            'POST /post/([1-9]\d{0,6})' => 'comment',
            'GET /search' => 'search',
            'GET /about' => 'about',
            'GET /contact' => 'contact',
            'POST /contact' => 'send_message',
            'GET /login' => 'login',
            'POST /login' => 'check_login',
            'POST /logout' => 'logout',
            'GET /account' => 'account',
            'POST /note' => 'save_note',
        ];
    }

    // Habits: what specimens change.

    /* The begin of every request: takes up the session of a visitor who has one. */
    protected function begin(): void
    {
        if (isset($_COOKIE[static::SESSION_COOKIE])) {
            $this->start_session();
        }
    }

    protected function start_session(): void
    {
        if (session_status() !== PHP_SESSION_ACTIVE) {
            session_save_path($this->data->session_folder());
            session_name(static::SESSION_COOKIE);
            session_start(['use_strict_mode' => true, 'cookie_httponly' => true, 'cookie_samesite' => 'Lax']);
        }
    }

    /* A session that becomes a member's gets a new number, as it should. */
    protected function renew_session(): void
    {
        session_regenerate_id(true);
        $_SESSION['token'] = random_token();
    }

    /* What forms must bring back; empty for a visitor without a session. */
    protected function token(): string
    {
        return $_SESSION['token'] ?? '';
    }

    protected function token_is_right(): bool
    {
        return $this->token() === '' || hash_equals($this->token(), $this->posted('token'));
    }

    /* What every form that posts carries besides its own fields. */
    protected function hidden_fields(): string
    {
        return $this->token() === '' ? '' : hidden_field('token', $this->token());
    }

    /* More attributes of every form that posts. */
    protected function form_attributes(): string
    {
        return '';
    }

    /* The path that was asked for, as `routes` knows it. */
    protected function path(): string
    {
        return strtok($_SERVER['REQUEST_URI'] ?? '/', '?') ?: '/';
    }

    /* The address of a post, before `link` has made a link of it. */
    protected function post_path(int $id): string
    {
        return "/post/$id";
    }

    /* A path of this site as links bear it; not yet escaped. */
    protected function link(string $path): string
    {
        return $path;
    }

    /* The name that a field of a form has in the HTML. */
    protected function field(string $name): string
    {
        return $name;
    }

    /* What the site is called. */
    protected function title(): string
    {
        return static::TITLE;
    }

    /* More of the head, of the header's links, below the main part, and of a post. */
    protected function head(): string
    {
        return '';
    }

    /* Hidden fields of the search form, which a GET sends. */
    protected function search_fields(): string
    {
        return '';
    }

    protected function header_links(): string
    {
        return '';
    }

    protected function foot(): string
    {
        return '';
    }

    protected function below_post(array $post): string
    {
        return '';
    }

    protected function front_posts(): array
    {
        return $this->data->posts();
    }

    protected function body_html(array $post): string
    {
        return paragraphs($post['body']);
    }

    protected function logout_html(): string
    {
        return $this->form('logout', '/logout', '', 'Log out');
    }

    // Pages.

    protected function front(): void
    {
        $items = '';
        foreach ($this->front_posts() as $post) {
            $items .= '<li><a href="' . escape($this->link($this->post_path((int) $post['id']))) . '">'
                . escape($post['title']) . '</a> '
                . escape(first_characters($post['body'], 60)) . "…</li>\n";
        }
        $this->show($this->title(), "<h1>All notes</h1>\n<ul class=\"posts\">\n$items</ul>\n");
    }

    protected function post(int $id): void
    {
        $post = $this->data->post($id);
        if (!$post) {
            $this->show_not_found();
            return;
        }
        $this->show($post['title'], '<article><h1>' . escape($post['title']) . "</h1>\n" . $this->body_html($post)
            . "</article>\n" . $this->below_post($post) . $this->comments_html($id) . $this->comment_form($id));
    }

    protected function comment(int $id): void
    {
        $author = $this->member() ?? first_characters($this->posted('author'), 40);
        $body = first_characters($this->posted('body'), 2000);
        if (!$this->data->post($id) || $author === '' || $body === '') {
            $this->show_problem(422, 'A comment needs a name and some words.');
            return;
        }
        $comment = $this->data->add_comment($id, $author, $body);
        if (session_status() === PHP_SESSION_ACTIVE) {
            $_SESSION['author'] = $author;
            $_SESSION['own'][] = $comment;
        }
        $this->say("Thank you, $author, your comment stands below.");
        $this->redirect($this->post_path($id) . "#comment-$comment");
    }

    protected function search(): void
    {
        $word = first_characters(asked('q'), 60);
        $found = $word === '' ? [] : $this->data->search($word);
        $items = '';
        foreach ($found as $post) {
            $items .= '<li><a href="' . escape($this->link($this->post_path((int) $post['id']))) . '">'
                . escape($post['title']) . "</a></li>\n";
        }
        $this->show('Search', '<h1>Search</h1><p id="found">' . count($found) . ' notes with “' . escape($word)
            . "”</p>\n<ul>\n$items</ul>\n");
    }

    protected function about(): void
    {
        $this->show('About', "<h1>About</h1>\n<p>These notes are kept by people who like lamps.</p>\n");
    }

    protected function contact(): void
    {
        $this->show('Contact', "<h1>Contact</h1>\n" . $this->form(
            'contact',
            '/contact',
            $this->text_field('sender', 'Your name') . $this->text_field('message', 'Your message'),
            'Send'
        ));
    }

    protected function send_message(): void
    {
        $sender = first_characters($this->posted('sender'), 40);
        $message = first_characters($this->posted('message'), 2000);
        if ($sender === '' || $message === '') {
            $this->show_problem(422, 'A message needs a name and some words.');
            return;
        }
        $this->show('Thank you', '<h1>Thank you, ' . escape($sender) . '</h1><p>We have your message: “'
            . escape(first_characters($message, 60)) . "”</p>\n");
    }

    protected function login(string $problem = ''): void
    {
        $this->show('Log in', "<h1>Log in</h1>\n" . ($problem === '' ? '' : '<p class="problem">' . escape($problem) . "</p>\n")
            . $this->form(
                'login',
                '/login',
                $this->text_field('user', 'Name') . $this->text_field('password', 'Password', 'password'),
                'Log in'
            ));
    }

    protected function check_login(): void
    {
        $user = $this->posted('user');
        if (!password_verify($this->posted('password'), self::MEMBERS[$user] ?? '')) {
            http_response_code(403);
            $this->login('That name and that password do not belong together.');
            return;
        }
        $this->start_session();
        $this->renew_session();
        $_SESSION['member'] = $user;
        $this->say("You are logged in, $user.");
        $this->redirect('/');
    }

    protected function logout(): void
    {
        if (session_status() === PHP_SESSION_ACTIVE) {
            $_SESSION = [];
            session_destroy();
            header_remove('Set-Cookie');
            setcookie(static::SESSION_COOKIE, '', ['expires' => 1, 'path' => '/']);
        }
        $this->redirect('/');
    }

    protected function account(): void
    {
        if (!$this->member()) {
            $this->show_problem(403, 'Please log in to see your account.');
            return;
        }
        $this->show('Account', '<h1>Account of ' . escape($this->member()) . "</h1>\n<p>Your note: <q id=\"kept-note\">"
            . escape($_SESSION['note'] ?? '') . "</q></p>\n"
            . $this->form('edit-note', '/note', $this->text_field('note', 'A private note'), 'Keep it'));
    }

    protected function save_note(): void
    {
        if (!$this->member()) {
            $this->show_problem(403, 'Please log in to keep a note.');
            return;
        }
        $_SESSION['note'] = first_characters($this->posted('note'), 500);
        $this->redirect('/account');
    }

    // What pages are made of.

    protected function member(): ?string
    {
        return $_SESSION['member'] ?? null;
    }

    /* A field that was posted, as text; anything else counts as empty. */
    protected function posted(string $name): string
    {
        $value = $_POST[$this->field($name)] ?? null;
        return is_string($value) ? trim($value) : '';
    }

    /* Keeps a sentence for the next page of this session. */
    protected function say(string $sentence): void
    {
        if (session_status() === PHP_SESSION_ACTIVE) {
            $_SESSION['said'] = $sentence;
        }
    }

    protected function form(string $id, string $action, string $fields, string $button): string
    {
        return '<form id="' . $id . '" method="post" action="' . escape($this->link($action)) . '"'
            . $this->form_attributes() . ">\n" . $this->hidden_fields() . $fields
            . '<button>' . escape($button) . "</button>\n</form>\n";
    }

    protected function text_field(string $name, string $label, string $type = 'text', string $value = ''): string
    {
        return '<label>' . escape($label) . ' <input type="' . $type . '" id="' . $name . '" name="'
            . escape($this->field($name)) . '" value="' . escape($value) . "\"></label>\n";
    }

    protected function comments_html(int $post): string
    {
        $items = '';
        foreach ($this->data->comments($post) as $comment) {
            $items .= '<li id="comment-' . $comment['id'] . '"><b>' . escape($comment['author']) . '</b> '
                . escape($comment['body']) . "</li>\n";
        }
        return "<h2>Comments</h2>\n<ol id=\"comments\">\n$items</ol>\n";
    }

    /* The form for a comment; a guest who wrote before finds their name in it. */
    protected function comment_form(int $post): string
    {
        $name = $this->member() ? '' : $this->text_field('author', 'Your name', 'text', $_SESSION['author'] ?? '');
        return $this->form('comment', $this->post_path($post), $name . $this->text_field('body', 'Your comment'), 'Send');
    }

    protected function show(string $title, string $main): void
    {
        header('Content-Type: text/html; charset=utf-8');
        $said = $_SESSION['said'] ?? '';
        unset($_SESSION['said']);
        $flash = $said === '' ? '' : '<p class="said" role="status">' . escape($said) . "</p>\n";
        $page = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            . "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" . escape($title) . "</title>\n"
            . $this->head() . "</head>\n<body>\n" . $this->header_html() . "<main>\n$flash$main</main>\n"
            . $this->foot() . "<footer><p>Keep the wick trimmed.</p></footer>\n</body>\n</html>\n";
        if ($_SERVER['REQUEST_METHOD'] !== 'HEAD') {
            echo $page;
        }
    }

    protected function header_html(): string
    {
        $links = '';
        foreach (['/' => $this->title(), '/about' => 'About', '/contact' => 'Contact'] as $path => $name) {
            $links .= '<a href="' . escape($this->link($path)) . '">' . escape($name) . "</a>\n";
        }
        $search = '<form id="search" action="' . escape($this->link('/search'))
            . '">' . $this->search_fields()
            . "<input id=\"q\" name=\"q\" aria-label=\"Words\"><button>Search</button></form>\n";
        return "<header>\n<nav>\n$links" . $this->header_links() . "</nav>\n$search" . $this->visitor_html() . "</header>\n";
    }

    /* Who is here: a link to the log-in, or the member with the beginning of the private note. */
    protected function visitor_html(): string
    {
        if (!$this->member()) {
            return '<a id="to-login" href="' . escape($this->link('/login')) . "\">Log in</a>\n";
        }
        return '<p id="member">Welcome back, ' . escape($this->member()) . '. <i>'
            . escape(first_characters($_SESSION['note'] ?? '', 24)) . '</i> <a href="'
            . escape($this->link('/account')) . "\">Account</a></p>\n" . $this->logout_html();
    }

    /* Sends the visitor on with a GET; a script is told where to go. */
    protected function redirect(string $path): void
    {
        if (is_background()) {
            $this->show_json(['location' => $this->link($path)]);
            return;
        }
        http_response_code(303);
        header('Location: ' . $this->link($path));
    }

    protected function show_json(array $values): void
    {
        header('Content-Type: application/json');
        echo json_encode($values, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES);
    }

    protected function show_problem(int $status, string $sentence): void
    {
        http_response_code($status);
        if (is_background()) {
            $this->show_json(['problem' => $sentence]);
            return;
        }
        $this->show('That did not work', "<h1>That did not work</h1>\n<p class=\"problem\">" . escape($sentence) . "</p>\n");
    }

    protected function show_not_found(): void
    {
        $this->show_problem(404, 'There is nothing at this address.');
    }
}
