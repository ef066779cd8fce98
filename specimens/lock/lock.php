<?php
declare(strict_types=1);
/*
 * A wiki in which GETs change things: opening a note for editing takes a lock, a vote is a link,
 * and so is logging out.
 */

require __DIR__ . '/../lib/site.php';

final class Lock extends Site
{
    protected const TITLE = 'The lamp wiki';
    private const LOCK_SECONDS = 900;

    public function __construct()
    {
        parent::__construct();
        $this->data->query(
            'CREATE TABLE IF NOT EXISTS locks (post INTEGER PRIMARY KEY, holder TEXT NOT NULL, until INTEGER NOT NULL)'
        );
    }

    protected function routes(): array
    {
        return [
            'GET /post/([1-9]\d{0,6}) edit' => 'edit',
            'POST /post/([1-9]\d{0,6}) save' => 'save',
            'GET /vote\.php' => 'vote',
            'GET /logout' => 'logout',
        ] + parent::routes();
    }

    protected function begin(): void
    {
        $this->start_session();
    }

    /* What is to be done stands in the query, as in DokuWiki. */
    protected function path(): string
    {
        $verb = asked('do');
        return parent::path() . (in_array($verb, ['edit', 'save'], true) ? " $verb" : '');
    }

    protected function logout_html(): string
    {
        return '<a id="logout" href="/logout">Log out</a>' . "\n";
    }

    protected function below_post(array $post): string
    {
        $id = (int) $post['id'];
        $editing = $this->holder($id) === null ? 'Nobody edits this' : 'Somebody edits this';
        return "<p><span class=\"votes\">{$post['votes']} votes</span>, <a id=\"vote\" href=\"/vote.php?id=$id\">vote for it</a>. "
            . "$editing, <a id=\"edit\" href=\"/post/$id?do=edit\">edit it</a>.</p>\n";
    }

    protected function edit(int $id): void
    {
        $post = $this->data->post($id);
        if (!$post) {
            $this->show_not_found();
            return;
        }
        if (!$this->take_lock($id)) {
            $this->show('Locked', "<h1>Somebody else edits this note</h1>\n<p>Try again in a quarter of an hour.</p>\n");
            return;
        }
        $this->show('Edit', '<h1>Edit: ' . escape($post['title']) . "</h1>\n"
            . $this->form('editor', "/post/$id?do=save", $this->text_field('text', 'Text', 'text', $post['body']), 'Save'));
    }

    protected function save(int $id): void
    {
        $text = first_characters($this->posted('text'), 4000);
        if ($this->holder($id) !== $this->reader() || $text === '') {
            $this->show_problem(409, 'The lock on this note is not yours any more.');
            return;
        }
        $this->data->query('UPDATE posts SET body = ? WHERE id = ?', [$text, $id]);
        $this->data->query('DELETE FROM locks WHERE post = ?', [$id]);
        $this->say('Saved, and the lock is gone.');
        $this->redirect($this->post_path($id));
    }

    protected function vote(): void
    {
        $id = (int) asked('id');
        $this->data->query('UPDATE posts SET votes = votes + 1 WHERE id = ?', [$id]);
        $this->say('Your vote is counted.');
        $this->redirect($this->data->post($id) ? $this->post_path($id) : '/');
    }

    private function take_lock(int $id): bool
    {
        $this->data->query('DELETE FROM locks WHERE post = ? AND until < ?', [$id, time()]);
        $this->data->query(
            'INSERT OR IGNORE INTO locks (post, holder, until) VALUES (?, ?, ?)',
            [$id, $this->reader(), time() + self::LOCK_SECONDS]
        );
        return $this->holder($id) === $this->reader();
    }

    private function holder(int $id): ?string
    {
        return $this->data->query('SELECT holder FROM locks WHERE post = ? AND until >= ?', [$id, time()])->fetchColumn() ?: null;
    }

    /* This session, in a form that may lie in the database. */
    private function reader(): string
    {
        return hash('sha256', session_id());
    }
}
