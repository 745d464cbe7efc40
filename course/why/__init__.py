"""Why a training on several ranks takes the time it takes: watch anyone's script, and say it."""
