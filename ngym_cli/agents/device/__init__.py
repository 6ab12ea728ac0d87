"""Learning on a GPU: choice of the device, rollouts and acting on it, gradients in bounded memory, trials made ahead.

Environments and trials stay on the CPU. Every step one pinned copy takes the observations to the device, where the
network acts; sequences are gathered and learned from there by torch's own kernels. The same code runs on the CPU
(`RecurrentPPO.on_device`), where tests compare it with the compiled passes.
"""
