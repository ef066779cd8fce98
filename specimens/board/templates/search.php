<?php if (!defined('BOARD')) exit; ?>
<h1>Search</h1>
<form class="search wide" action="/search">
    <input type="search" name="q" value="<?= escape($sought) ?>" aria-label="Words" maxlength="100">
    <button>Search</button>
</form>
<?php if ($sought !== ''): ?>
<p class="path"><?= count($posts) === 30 ? 'The newest 30' : count($posts) ?> posts with <strong><?= escape($sought) ?></strong></p>
<?php render('found', ['posts' => $posts]) ?>
<?php endif ?>
