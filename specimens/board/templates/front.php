<?php if (!defined('BOARD')) exit; ?>
<h1>Threads</h1>
<table class="threads">
    <thead>
        <tr><th scope="col">Subject</th><th scope="col">Replies</th><th scope="col">Last post</th></tr>
    </thead>
    <tbody>
<?php foreach ($threads as $thread): ?>
        <tr>
            <td>
                <a class="subject" href="<?= thread_path($thread['id']) ?>"><?= escape($thread['subject']) ?></a>
                <span class="by">by <a href="/member/<?= escape($thread['starter']) ?>"><?= escape($thread['starter']) ?></a></span>
            </td>
            <td class="number"><?= $thread['posts'] - 1 ?></td>
            <td class="last"><a href="<?= last_post_path($thread) ?>"><?= date_tag($thread['changed']) ?></a> <span class="by">by <?= escape($thread['last_member']) ?></span></td>
        </tr>
<?php endforeach ?>
    </tbody>
</table>
<?php render('pager', ['page' => $page, 'pages' => $pages, 'first' => '/', 'other' => '/page/']) ?>
