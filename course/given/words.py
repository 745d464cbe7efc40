"""A BERT that predicts a word for each token, with its loss inside `forward` or not."""

from torch import Tensor, nn

from course.models import bert


class Words(nn.Module):
    """`inside` says whether it returns the loss of its tokens, or their logits."""

    def __init__(self, inside: bool) -> None:
        super().__init__()
        self.encoder, self.inside = bert().bert, inside
        self.encoder.pooler = None  # it serves whole sentences
        self.head = nn.Linear(self.encoder.config.hidden_size, 8192)

    def forward(self, ids: Tensor) -> Tensor:
        """The logits of the words, or a vector with the loss alone."""
        logits = self.head(self.encoder(ids).last_hidden_state)
        return loss_of(logits, ids).view(1) if self.inside else logits


def loss_of(logits: Tensor, ids: Tensor) -> Tensor:
    """The mean loss of all tokens."""
    return nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten())
