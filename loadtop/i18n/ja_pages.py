"""Japanese for the pages beside the cockpit: tune, experiment, replay, compare, sessions, the screen of a command."""

REASONS = {
    # why a climb ended, and what bounds the number of workers
    "requests fail at {c} connections": "{c} 接続でリクエストが失敗",
    "the load generator is full": "負荷生成側が限界",
    "memory is swapped at {c} connections": "{c} 接続でスワップ発生",
    "throughput falls at {c} connections": "{c} 接続でスループットが低下",
    "more connections give no more": "接続を増やしても伸びない",
    "{c} connections are the most allowed": "許された最大 {c} 接続に到達",
    "nothing was swapped at {calm}, but at {swapping}": "{calm} ではスワップなし、{swapping} で発生",
    "{size} MB each by {basis}; {share} % of {room} MB": "1 個 {size} MB（{basis}）、{room} MB の {share} %",
    "; measured: calm at {calm}, swapping at {swapping}": "。実測: {calm} では平穏、{swapping} でスワップ",
    "best from {c} to {until} connections, no better beyond": "{c}～{until} 接続で最良、その先は伸びない",
    "best at {c} connections": "{c} 接続で最良",
    "{number} were busy at most, and the status page": "同時稼働は最大 {number}、ほかにステータスページ",
    "{number} were busy at most": "同時稼働は最大 {number}",
    "{number} of them make the CPU {share} % busy": "{number} 個で CPU 使用 {share} %",
    "{number} connections were tested, and the status page": "{number} 接続まで測定、ほかにステータスページ",
}
