<?php if (!defined('BOARD')) exit; ?>
<h1><?= escape($shown['name']) ?></h1>
<p class="path"><?= escape($shown['title']) ?> · <?= $count ?> posts · since <?= gmdate('j M Y', $shown['joined']) ?></p>
<h2>Last posts</h2>
<?php render('found', ['posts' => array_map(fn ($post) => $post + ['name' => $shown['name']], $posts)]) ?>
