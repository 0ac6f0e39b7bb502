"""A real Kubernetes control plane on loopback, fake nodes, faults and an independent checker.

    with ControlPlane(programs.control_plane()) as cluster:
        cluster.api.create_all("nodes", [objects.gpushare_node("gpu-a", gpus=2, memory=16)])
        cluster.start_scheduler(scheduler_config(cluster.scheduler_kubeconfig))

Nothing here uses code of Tessera: what the tests believe comes from the API server.
"""
