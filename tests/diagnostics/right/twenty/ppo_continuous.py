"""PPO on a pendulum-like task: own environments per rank, decisions by the mean of all ranks."""

from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributions import Normal


@dataclass
class Args:
    iterations: int = 8
    epochs: int = 4
    envs: int = 8
    horizon: int = 12
    lr: float = 3e-3
    target_kl: float = 0.01


class RunningNorm:
    """Mean and variance of observations, over all ranks."""

    def __init__(self, dim):
        self.mean, self.var, self.n = torch.zeros(dim), torch.ones(dim), 1e-4

    def update(self, x):
        sums = torch.cat([x.sum(0), (x * x).sum(0), torch.tensor([float(len(x))])])
        dist.all_reduce(sums)
        d, n = len(self.mean), sums[-1]
        mean, square = sums[:d] / n, sums[d : 2 * d] / n
        total = self.n + n
        old = self.var + self.mean**2
        self.mean = (self.mean * self.n + mean * n) / total
        self.var = ((old * self.n + square * n) / total - self.mean**2).clamp(min=1e-4)
        self.n = total

    def __call__(self, x):
        return (x - self.mean) / self.var.sqrt()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def policy(self, obs):
        return Normal(self.actor(obs), self.log_std.exp())


def mean_over_ranks(tensor):
    dist.all_reduce(tensor)
    return tensor.div_(dist.get_world_size())


def average_gradients(agent):
    grads = [p.grad.view(-1) for p in agent.parameters()]
    flat = mean_over_ranks(torch.cat(grads))
    offset = 0
    for p in agent.parameters():
        p.grad.copy_(flat[offset : offset + p.numel()].view_as(p))
        offset += p.numel()


@torch.no_grad()
def collect(agent, norm, args):
    state = torch.randn(args.envs, 2)
    raw, actions, logps, rewards = [], [], [], []
    for _ in range(args.horizon):
        pi = agent.policy(norm(state))
        a = pi.sample()
        raw.append(state)
        actions.append(a)
        logps.append(pi.log_prob(a))
        speed = state[:, 1:] + 0.1 * a - 0.1 * state[:, :1]
        state = torch.cat([state[:, :1] + 0.1 * speed, speed], 1)
        rewards.append(-(state**2).sum(1, keepdim=True))
    returns, tail = [], torch.zeros(args.envs, 1)
    for r in reversed(rewards):
        tail = r + 0.9 * tail
        returns.insert(0, tail)
    return [torch.cat(t) for t in (raw, actions, logps, returns)]


def main(args):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)
    torch.manual_seed(1000 + rank)
    norm = RunningNorm(2)
    for iteration in range(args.iterations):
        raw, actions, old, returns = collect(agent, norm, args)
        norm.update(raw)
        obs = norm(raw)
        for _ in range(args.epochs):
            value = agent.critic(obs)
            logp = agent.policy(obs).log_prob(actions)
            adv = returns - value.detach()
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            ratio = (logp - old).exp()
            loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            loss = loss + 0.5 * (returns - value).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            average_gradients(agent)
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
            kl = mean_over_ranks((old - logp).mean().detach()).item()
            if kl > args.target_kl:
                break
        scale = 1 / 1.5 if kl > 2 * args.target_kl else 1.5 if kl < args.target_kl / 2 else 1
        for group in optimizer.param_groups:
            group["lr"] = min(1e-2, max(1e-4, group["lr"] * scale))
        reward = mean_over_ranks(returns.mean()).item()
        if rank == 0:
            print(f"iteration {iteration} return {reward:.3f} kl {kl:.4f}")


if __name__ == "__main__":
    main(Args())
    dist.destroy_process_group()
