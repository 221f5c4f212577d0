"""Japanese for a test without a screen: a line per interval, and the rows of servers in the text report."""

LINES = {
    # the limit at the end of a line
    "NONE": "余裕あり",
    "CLIENT-PORTS": "クライアントのポート",
    "CLIENT-FILES": "クライアントのファイル記述子",
    "APACHE-WORKERS": "Apache ワーカー",
    "FPM-WORKERS": "php-fpm ワーカー",
    "HAPROXY-QUEUE": "HAProxy の待ち行列",
    "LISTEN-QUEUE": "接続待ち行列",
    "CPU-CORE": "1 コア",
    # a line
    " failed {number}": " 失敗 {number}",
    " not2xx {number}": " 2xx以外 {number}",
    "idle {share} %": "アイドル {share} %",
    " wait {share} %": " iowait {share} %",
    " swap {share} %": " スワップ {share} %",
    " busy {busy}/{all}": " 稼働 {busy}/{all}",
    " queue {number}": " 待ち {number}",
    " haproxy queue {number}": " haproxy 待ち {number}",
    "silent": "無応答",
    # rows of the report
    "others   {told} of a core": "その他   {told}（1 コア比）",
    "  php-fpm  {pool}  active {active} of {all} children  queue {queue}  {rate} requests/s": "  php-fpm  {pool}  稼働 {active} / {all} 子プロセス  待ち {queue}  {rate} 要求/s",
    "an unknown number of": "不明",
    "queue {number}  ": "待ち {number}  ",
    " of {number}": " / {number}",
    "  haproxy  {name}  {queue}sessions {sessions}{limit}  {rate} sessions/s": "  haproxy  {name}  {queue}セッション {sessions}{limit}  {rate} セッション/s",
    # what is said when it has ended
    "Recorded in {path}": "記録: {path}",
    # an experiment
    "{h} h": "{h} 時間",
    "1 cell is measured already (--again measures it again)": "1 項目は測定済みです（--again で測り直す）",
    "{count} cells are measured already (--again measures them again)": "{count} 項目は測定済みです（--again で測り直す）",
    ", about {time} left": "、残り約 {time}",
    " ({number} of {of})": "（{number} / {of} 回）",
    "cell {number} of {of}{left}: {cell}": "項目 {number} / {of}{left}: {cell}",
    "    {rps} requests/s, {limit}{failed}": "    毎秒 {rps} リクエスト、{limit}{failed}",
    ", {number} failed": "、失敗 {number}",
    "interrupted: loadtop experiment {plan} goes on where it stopped": "中断しました。loadtop experiment {plan} で続きから再開します",
    "Recordings and tables (txt, md, csv, json) are in {directory}": "記録と表（txt、md、csv、json）: {directory}",
}
