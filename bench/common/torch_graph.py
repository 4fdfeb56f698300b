"""What the peers in PyTorch share."""


def captured(torch, step, optimizer):
    """The step as a CUDA graph, after a few steps of its own on a side stream, as PyTorch asks for: what replays it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def median_seconds(step, warm_up, rounds, steps, wait):
    """Of a step: the median of `rounds` rounds of so many steps."""
    import statistics
    import time

    for _ in range(warm_up):
        step()
    wait()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        wait()
        times.append((time.perf_counter() - begin) / steps)
    return statistics.median(times)
