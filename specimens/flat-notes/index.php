<?php
declare(strict_types=1);
/*
 * Notes without a database: they lie in files, and each reading writes two more, a rendered copy
 * and a counter.
 */

require __DIR__ . '/../lib/site.php';
require __DIR__ . '/notes.php';

final class FlatNotes extends Site
{
    protected const TITLE = 'Notes on paper';

    private readonly Notes $notes;

    protected function begin(): void
    {
        $this->notes = new Notes($this->data->folder);
        parent::begin();
    }

    protected function front_posts(): array
    {
        return $this->notes->all();
    }

    protected function post(int $id): void
    {
        $note = $this->notes->note($id);
        if (!$note) {
            $this->show_not_found();
            return;
        }
        $this->show($note['title'], '<article><h1>' . escape($note['title']) . "</h1>\n"
            . $this->notes->rendered($note['body']) . '<p class="views">' . $this->notes->count() . " readings so far</p>\n"
            . "</article>\n" . $this->comments_html($id) . $this->comment_form($id));
    }

    protected function comment(int $id): void
    {
        $author = $this->member() ?? first_characters($this->posted('author'), 40);
        $body = first_characters($this->posted('body'), 2000);
        if (!$this->notes->note($id) || $author === '' || $body === '') {
            $this->show_problem(422, 'A comment needs a name and some words.');
            return;
        }
        $comment = $this->notes->add_comment($id, $author, $body);
        $this->redirect($this->post_path($id) . "#comment-$comment");
    }

    protected function comments_html(int $post): string
    {
        $items = '';
        foreach ($this->notes->comments($post) as $comment) {
            $items .= "<li id=\"comment-{$comment['id']}\"><b>" . escape($comment['author']) . '</b> '
                . escape($comment['body']) . "</li>\n";
        }
        return "<h2>Comments</h2>\n<ol id=\"comments\">\n$items</ol>\n";
    }

    protected function search(): void
    {
        $word = first_characters(asked('q'), 60);
        $found = $word === '' ? [] : $this->notes->search($word);
        $items = '';
        foreach ($found as $note) {
            $items .= '<li><a href="' . escape($this->post_path($note['id'])) . '">' . escape($note['title']) . "</a></li>\n";
        }
        $this->show('Search', '<h1>Search</h1><p id="found">' . count($found) . ' notes with “' . escape($word)
            . "”</p>\n<ul>\n$items</ul>\n");
    }
}

(new FlatNotes())->answer();
