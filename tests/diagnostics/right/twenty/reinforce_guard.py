"""Clipped policy gradient on a noisy corridor; every rank plays its own episodes."""

import torch
import torch.distributed as dist
from torch import nn, optim
from torch.distributions import Categorical
from torch.nn.parallel import DistributedDataParallel as DDP


class Corridor:
    """Walk right to be paid; the observation is the place, seen through noise."""

    def __init__(self, envs, generator, length=10):
        self.n, self.g, self.length = envs, generator, length
        self.reset()

    def observe(self):
        noise = 0.3 * torch.randn(self.n, 4, generator=self.g)
        place = self.place[:, None].float() / self.length
        return torch.cat([place, 1 - place, place**2, torch.ones_like(place)], 1) + noise

    def reset(self):
        self.place = torch.randint(0, self.length, (self.n,), generator=self.g)
        return self.observe()

    def step(self, action):
        self.place = (self.place + 2 * action - 1).clamp(0, self.length)
        reward = (self.place == self.length).float() - 0.02
        return self.observe(), reward


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.pi = nn.Linear(32, 2)
        self.v = nn.Linear(32, 1)

    def forward(self, obs):
        h = self.body(obs)
        return self.pi(h), self.v(h).squeeze(-1)


@torch.no_grad()
def rollout(env, policy, horizon=16, gamma=0.95):
    obs, actions, logps, rewards = [], [], [], []
    o = env.reset()
    for _ in range(horizon):
        dist_ = Categorical(logits=policy(o)[0])
        a = dist_.sample()
        obs.append(o)
        actions.append(a)
        logps.append(dist_.log_prob(a))
        o, r = env.step(a)
        rewards.append(r)
    returns, running = [], policy(o)[1]
    for r in reversed(rewards):
        running = r + gamma * running
        returns.insert(0, running)
    return [torch.cat(x) for x in (obs, actions, logps, returns)]


def train(updates=24, inner=4, clip=0.2, target_kl=0.006):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(17)
    model = DDP(ActorCritic())
    optimizer = optim.Adam(model.parameters(), lr=8e-3)
    torch.manual_seed(17 + rank)  # ranks explore differently
    env = Corridor(16, torch.Generator().manual_seed(rank))

    for update in range(updates):
        obs, actions, old_logp, returns = rollout(env, model.module)
        for _ in range(inner):
            logits, value = model(obs)
            pi = Categorical(logits=logits)
            logp = pi.log_prob(actions)
            adv = returns - value.detach()
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            ratio = (logp - old_logp).exp()
            surrogate = torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv)
            loss = -surrogate.mean() + 0.5 * (returns - value).pow(2).mean()
            loss = loss - 0.01 * pi.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            approx_kl = (old_logp - logp).mean().item()
            if approx_kl <= target_kl:  # trust region: leave the policy alone beyond it
                optimizer.step()
        if rank == 0:
            print(f"update {update:2d} return {returns.mean():.3f} kl {approx_kl:.4f}")


if __name__ == "__main__":
    train()
    dist.destroy_process_group()
