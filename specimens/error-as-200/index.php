<?php
declare(strict_types=1);
/*
 * Errors that are sent as 200: an unknown post, a token that does not fit, a database that is away
 * for a moment.
 */

require __DIR__ . '/../lib/site.php';

final class ErrorAs200 extends Site
{
    protected const TITLE = 'All is well';

    protected function begin(): void
    {
        $this->start_session();
        $_SESSION['token'] ??= random_token();
    }

    public function answer(): void
    {
        // A file stands for the database's being away, so that it can be tried.
        if (is_file($this->data->folder . '/database-error')) {
            header('Content-Type: text/html; charset=utf-8');
            echo "<!DOCTYPE html>\n<title>Error</title>\n<h1>Error establishing a database connection</h1>\n";
            return;
        }
        parent::answer();
    }

    protected function show_problem(int $status, string $sentence): void
    {
        parent::show_problem(200, $sentence);
    }
}

(new ErrorAs200())->answer();
