"""L4: a Worker whose forked child is an L3 Worker, which dispatches to a forked chip child of its own."""

from simpler.task_interface import ArgDirection as D
from simpler.task_interface import CallConfig, ChipCallable, TaskArgs
from simpler.worker import Orchestrator, Worker


def noop() -> None:
    pass


def main() -> None:
    node = Worker(level=3, device_ids=[0], num_sub_workers=0, platform="a2a3sim", runtime="tensormap_and_ringbuffer")
    kernel = node.register(ChipCallable("noop", noop, [D.IN]))

    def run_node(orch: Orchestrator, args: TaskArgs, config: CallConfig) -> None:
        orch.submit_next_level(kernel, args, config)

    network = Worker(level=4, platform="a2a3sim", runtime="tensormap_and_ringbuffer")
    network.add_worker(node)
    node_graph = network.register(run_node)
    network.init()

    def run_network(orch: Orchestrator, args: TaskArgs, config: CallConfig) -> None:
        orch.submit_next_level(node_graph, args, config)

    for _ in range(2):
        network.run(run_network, TaskArgs())
    network.close()


if __name__ == "__main__":
    main()
