"""Required literals by pattern; written by ``python .ci/derive.py``."""

LITERALS: dict[str, tuple[str, ...]] = {
    "RCCL version ?:? (?P<value>\\d+\\.\\d+\\.\\d+)(?:\\+hip(?P<hip>\\d+\\.\\d+))?": (
        "RCCL version ",
        "RCCL version: ",
    ),
    "cudaDriverVersion (?P<value>\\d{4,6})\\b": ("cudaDriverVersion ",),
    "(?:(?P<api>ncclComm\\w+) )?comm (?P<comm>0x[0-9a-f]+) rank (?P<comm_rank>\\d+) n[Rr]anks (?P<nranks>\\d+)(?: cudaDev (?P<cuda_dev>\\d+))?(?: nvmlDev (?P<nvml_dev>\\d+))?(?: busId (?P<gpu>[0-9a-f]+))?(?: parent (?P<parent>0x[0-9a-f]+))?(?: (?:splitCount|childCount) (?P<child>\\d+))?(?: color (?P<color>-?\\d+) key (?P<key>-?\\d+))?(?: commId (?P<communicator>0x[0-9a-f]+))?(?: localSize \\d+ used \\d+ bytes)? ?- (?P<phase>Destroy COMPLETE|Abort COMPLETE|Finalize COMPLETE|Abort START|Revoke START|Revoke COMPLETE)": (
        "- Abort COMPLETE",
        "- Abort START",
        "- Destroy COMPLETE",
        "- Finalize COMPLETE",
        "- Revoke COMPLETE",
        "- Revoke START",
    ),
    "comm (?P<comm>0x[0-9a-f]+) rank (?P<comm_rank>\\d+) nRanks (?P<nranks>\\d+) nNodes (?P<nnodes>\\d+) localRanks (?P<local_ranks>\\d+) localRank (?P<comm_local_rank>\\d+)": (
        " localRanks ",
    ),
    "Init timings - (?P<api>\\w+): rank (?P<comm_rank>\\d+) nranks (?P<nranks>\\d+) total (?P<total>[\\d.]+) \\(kernels (?P<kernels>[\\d.]+),(?: alloc [\\d.]+,)? bootstrap (?P<bootstrap>[\\d.]+), allgathers (?P<allgathers>[\\d.]+), topo (?P<topo>[\\d.]+), graphs (?P<graphs>[\\d.]+), connections (?P<connections>[\\d.]+)": (
        "Init timings - ",
    ),
    "Using network (?P<value>\\w[^\\r\\n]*)": ("Using network ",),
    "Assigned NET plugin (?P<value>\\w[^\\r\\n]*?) to comm": ("Assigned NET plugin ",),
    "NET/OFI Selected [Pp]rovider is (?P<value>[^\\s,(]+)(?:(?:, fabric is [^\\r\\n(]*| )\\(found (?P<nics>\\d+) nics\\))?": (
        "NET/OFI Selected Provider is ",
        "NET/OFI Selected provider is ",
    ),
    "NET/(?P<net>\\w+) : Using(?P<listing> [^;\\r\\n]*); OOB (?P<oob_interface>[^\\s:]+):(?P<oob_address>[^\\s<]+)": (
        " : Using ",
    ),
    "Made virtual device \\[\\d+\\] name=(?P<hca>\\S+) speed=(?P<megabits>\\d+) ndevs=(?P<ports>\\d+)": (
        "Made virtual device [",
    ),
    "NET/(?:Fast)?Socket : Using(?: interface)? (?P<listing>[^\\r\\n]*)": (
        "NET/FastSocket : Using ",
        "NET/Socket : Using ",
    ),
    "Bootstrap ?: Using (?P<listing>[^\\r\\n]*)": ("Bootstrap : Using ", "Bootstrap: Using "),
    "GPU Direct RDMA (?:\\([^)\\r\\n]*\\) )?(?P<enabled>[Ee]nabled|[Dd]isabled) for (?:GPU \\S+ / HCA (?P<hca_index>\\S+)|HCA \\d+ '(?P<hca>[^'\\s]+))?(?:'? ?\\((?P<reason>[^)\\r\\n]*)\\))?": (
        "GPU Direct RDMA ",
    ),
    "DMA-BUF is available on GPU device": ("DMA-BUF is available on GPU device",),
    "NVLS multicast support is (?P<value>not available|available)": ("NVLS multicast support is ",),
    "NET/OFI Initializing (?P<plugin>aws-ofi-nccl) (?P<value>[\\w.-]+)": (
        "NET/OFI Initializing aws-ofi-nccl ",
    ),
    "P2P plugin (?:v\\d+ )?(?P<value>(?P<plugin>\\w+))": ("P2P plugin ",),
    "ROCm version ?: (?P<value>\\d+\\.\\d+(?:\\.\\d+)?)": ("ROCm version : ", "ROCm version: "),
    "SHARP rank (?P<comm_rank>\\d+)/(?P<nranks>\\d+) initialized on (?P<host>[\\w.-]+)": (
        " initialized on ",
    ),
    "(?P<name>[NR]CCL_[A-Z0-9_]+) set by environment to (?P<value>[^\\r\\n]*)": (
        " set by environment to ",
    ),
    "(?P<name>NCCL_(?:IB_HCA|SOCKET_IFNAME|OOB_NET_IFNAME|NET_PLUGIN|TUNER_PLUGIN|PROFILER_PLUGIN|IB_ADDR_RANGE|IB_ADDR_FAMILY|SOCKET_FAMILY|TOPO_FILE|HOSTID)) set to (?P<value>\\S+)": (
        "NCCL_HOSTID set to ",
        "NCCL_IB_ADDR_FAMILY set to ",
        "NCCL_IB_ADDR_RANGE set to ",
        "NCCL_IB_HCA set to ",
        "NCCL_NET_PLUGIN set to ",
        "NCCL_OOB_NET_IFNAME set to ",
        "NCCL_PROFILER_PLUGIN set to ",
        "NCCL_SOCKET_FAMILY set to ",
        "NCCL_SOCKET_IFNAME set to ",
        "NCCL_TOPO_FILE set to ",
        "NCCL_TUNER_PLUGIN set to ",
    ),
    "Plugin name set by env to (?P<value>\\S+)": ("Plugin name set by env to ",),
    "Invalid value (?P<value>\\S*) for (?P<name>NCCL_[A-Z0-9_]+), using default (?P<used>-?\\w+)": (
        ", using default ",
    ),
    "Invalid (?P<name>NCCL_(?:LL128_)?NTHREADS) (?P<value>\\d+) \\((?P<limit>must be a multiple of \\d+|(?:maximum|minimum) \\d+)\\)": (
        "Invalid NCCL_LL128_NTHREADS ",
        "Invalid NCCL_NTHREADS ",
    ),
    'Unrecognized (?:element|prefix) token \\"(?P<value>[^\\"]*)\\" when parsing \\"(?P<whole>[^\\"]*)\\"': (
        'Unrecognized element token "',
        'Unrecognized prefix token "',
    ),
    "Invalid (?P<name>NCCL_COMM_ID), please use format": (
        "Invalid NCCL_COMM_ID, please use format",
    ),
    "(?P<name>NCCL_IB_SUBNET_PREFIX_LEN)=(?P<value>-?\\d+) is out of range": (
        "NCCL_IB_SUBNET_PREFIX_LEN=",
    ),
    "Ip address '(?P<value>[^']*)' is invalid for family (?P<family>\\w+), ignoring address": (
        "' is invalid for family ",
    ),
    "(?P<name>NCCL_NET_FORCE_MERGE) specified (?P<value>\\S+)": (
        "NCCL_NET_FORCE_MERGE specified ",
    ),
    "The value of (?P<name>TORCH_DISTRIBUTED_DEBUG) must be OFF, INFO, or DETAIL": (
        "The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL",
    ),
    "Got completion with error (?P<status>\\d+)": ("Got completion with error ",),
    "Got completion from peer (?P<peer>\\S+) with (?:error |status=)(?P<status>\\d+)": (
        "Got completion from peer ",
    ),
    "Got completion from peer (?P<peer>\\S+) with status=IBV_WC_(?P<status_name>[A-Z_]+)\\((?P<status>\\d+)\\)": (
        "Got completion from peer ",
    ),
    "Got CQE with error \\(devIndex=(?P<device_index>\\d+)": ("Got CQE with error (devIndex=",),
    "NET/IB ?: (?:(?P<hca>[\\w.+-]+):(?P<port>\\d+) )?Got (?:non-fatal )?async (?:error )?event ?: (?P<event>[^(\\r\\n]+)": (
        "Got async error event : ",
        "Got async error event: ",
        "Got async event : ",
        "Got async event: ",
        "Got non-fatal async error event : ",
        "Got non-fatal async error event: ",
        "Got non-fatal async event : ",
        "Got non-fatal async event: ",
    ),
    "NET/IB ?: (?P<hca>[\\w.+-]+):(?P<port>\\d+) GID table changed": (" GID table changed",),
    "communicator encountered a fatal error \\(detected in (?P<where>[^)]*)\\)": (
        "communicator encountered a fatal error (detected in ",
    ),
    "Call to ibv_modify_qp failed(?: with error (?P<error>[A-Z][A-Za-z /]*)|\\s*$)": (
        "Call to ibv_modify_qp failed",
    ),
    "Call to ibv_modify_qp failed with (?P<errno>\\d+) (?P<error>[^,\\r\\n]+)(?:, on dev (?P<device>(?P<hca>[^\\s:,]+):\\d+), curr state (?P<state>\\w+), next state (?P<next_state>\\w+), local GID index (?P<gid_index>-?\\d+), local GID (?P<local_gid>[^\\s,]+), remote GID (?P<remote_gid>[^\\s,]+))?": (
        "Call to ibv_modify_qp failed with ",
    ),
    "Call to (?P<call>ibv_reg_mr_iova2|ibv_reg_dmabuf_mr|ibv_reg_mr) failed(?: with error (?P<error>[A-Z][A-Za-z /]*))?": (
        "Call to ibv_reg_dmabuf_mr failed",
        "Call to ibv_reg_mr failed",
        "Call to ibv_reg_mr_iova2 failed",
    ),
    "(?P<call>ibv_post_send|ibv_post_recv)\\(\\) failed with error (?P<error>[A-Z][A-Za-z /]*)": (
        "ibv_post_recv() failed with error ",
        "ibv_post_send() failed with error ",
    ),
    "NET/IB ?: Unable to (?P<call>open|query) device (?P<device>(?P<hca>[\\w.+-]+))": (
        "NET/IB : Unable to open device ",
        "NET/IB : Unable to query device ",
        "NET/IB: Unable to open device ",
        "NET/IB: Unable to query device ",
    ),
    "NET/IB ?: Unable to (?P<call>query port)(?:_num)? (?P<port>\\d+)": (
        "NET/IB : Unable to query port",
        "NET/IB: Unable to query port",
    ),
    "Call to (?P<call>ibv_open_device) failed": ("Call to ibv_open_device failed",),
    "NET/(?P<net>\\w+) : No device found": (" : No device found",),
    "NET/IB : No IP interface found": ("NET/IB : No IP interface found",),
    "Failed to open (?P<library>libibverbs\\.so[.\\d]*)": ("Failed to open libibverbs.so",),
    "Attempted to (?P<action>connect|merge) incompatible devices: \\[\\d+\\](?P<local>[^\\s/]+)/(?P<local_layer>\\w+) and \\[\\d+\\](?P<remote>[^\\s/]+)/(?P<remote_layer>\\w+)": (
        "Attempted to connect incompatible devices: [",
        "Attempted to merge incompatible devices: [",
    ),
    "Can't (?P<action>merge|connect) net devices with different link_layer": (
        "Can't connect net devices with different link_layer",
        "Can't merge net devices with different link_layer",
    ),
    "Remote (?P<remote>\\S+) device is incompatible with the local (?P<local>\\S+)": (
        " device is incompatible with the local ",
    ),
    "Local mergedDev (?P<local>\\S+) has a different number of devices=(?P<local_devices>\\d+) as remote (?P<remote>\\S+) (?P<remote_devices>\\d+)": (
        " has a different number of devices=",
    ),
    "mismatched physical devices between local \\((?P<local>[^)]*)\\) and remote \\((?P<remote>[^)]*)\\)": (
        "mismatched physical devices between local (",
    ),
    "NET/IB: (?:(?P<hca>[\\w.+-]+): )?Device (?P<device>\\S+) marked as failed": (
        " marked as failed",
    ),
    "Detected (?P<failed>\\d+) failed devices out of (?P<devices>\\d+) devices|Could not find a functional device to post the probe": (
        " failed devices out of ",
        "Could not find a functional device to post the probe",
    ),
    "remote FLID configured as zero even when endpoints are on different subnets": (
        "remote FLID configured as zero even when endpoints are on different subnets",
    ),
    "(?P<call>open|read) failed in ncclIbRoceGetVersionNum: (?P<error>[^\\r\\n]+)": (
        "open failed in ncclIbRoceGetVersionNum: ",
        "read failed in ncclIbRoceGetVersionNum: ",
    ),
    "dlvsym failed on (?P<symbol>\\w+) - (?P<error>[^\\r\\n]+)": ("dlvsym failed on ",),
    "Call to connect returned (?P<error>[^,\\r\\n]+), retrying": ("Call to connect returned ",),
    "onnect: (?:connect to (?P<peer>\\S+)|connect) returned (?P<error>[^,\\r\\n]+), retrying \\((?P<attempts>\\d+)/(?P<limit>\\d+)\\)": (
        "onnect: connect",
    ),
    "[Cc]onnect to (?P<peer>\\S+) failed ?: (?P<error>[^\\r\\n]+)": ("Connect to ", "connect to "),
    "[Cc]onnect(?: to (?P<peer>\\S+))? returned (?P<error>[^,\\r\\n]+), exceeded error retry count (?:after |\\()(?P<attempts>\\d+)": (
        ", exceeded error retry count ",
    ),
    "socket(?:Start|Poll)Connect: exceeded (?P<error>retries|timeouts) \\((?P<attempts>\\d+)\\)": (
        "socketPollConnect: exceeded ",
        "socketStartConnect: exceeded ",
    ),
    "socketPollConnect: Connect to (?P<peer>\\S+) returned (?P<pending>-?\\d+)\\((?P<pending_error>[^)\\r\\n]*)\\) errno (?P<errno>\\d+)\\((?P<error>[^)\\r\\n]*)\\)": (
        "socketPollConnect: Connect to ",
    ),
    "socketPollConnect to (?P<peer>\\S+) failed with error (?P<error>[^\\r\\n]+)": (
        "socketPollConnect to ",
    ),
    "Connection closed by remote peer(?: (?P<peer>[^\\s<]+)<\\d+>)?": (
        "Connection closed by remote peer",
    ),
    "Call to (?P<call>recv from|send to) (?P<peer>[^\\s<]+)(?:<\\d+>)? failed ?: (?P<error>[^\\r\\n]+)": (
        "Call to recv from ",
        "Call to send to ",
    ),
    "Call to (?P<call>recv|send) failed ?: (?P<error>[^\\r\\n]+)": (
        "Call to recv failed : ",
        "Call to recv failed: ",
        "Call to send failed : ",
        "Call to send failed: ",
    ),
    "remote process exited or there was a network error": (
        "remote process exited or there was a network error",
    ),
    "Call to (?P<call>socket|bind|listen|accept|setsockopt|getsockname|poll|fcntl|pthread_create) failed ?: (?P<error>[^\\r\\n]+)": (
        "Call to accept failed",
        "Call to bind failed",
        "Call to fcntl failed",
        "Call to getsockname failed",
        "Call to listen failed",
        "Call to poll failed",
        "Call to pthread_create failed",
        "Call to setsockopt failed",
        "Call to socket failed",
    ),
    " WARN (?:Net : )?Socket creation failed : (?P<error>[^\\r\\n]+)": (
        " WARN Net : Socket creation failed : ",
        " WARN Socket creation failed : ",
    ),
    "ocketTryAccept: (?:Accept failed:|exceeded error retry count [^,\\r\\n]{1,30},) (?P<error>[^\\r\\n]+)": (
        "ocketTryAccept: Accept failed:",
        "ocketTryAccept: exceeded error retry count ",
    ),
    "Thread creation failed: (?P<error>[^\\r\\n]+)": ("Thread creation failed: ",),
    "\\[Proxy [Ss]ervice(?: UDS)?\\] (?:Poll failed: (?P<error>[^\\r\\n]+)|Too many connections \\((?P<limit>\\d+) max\\))": (
        "[Proxy Service UDS] Poll failed: ",
        "[Proxy Service UDS] Too many connections (",
        "[Proxy Service] Poll failed: ",
        "[Proxy Service] Too many connections (",
        "[Proxy service UDS] Poll failed: ",
        "[Proxy service UDS] Too many connections (",
        "[Proxy service] Poll failed: ",
        "[Proxy service] Too many connections (",
    ),
    "connecting to address (?P<peer>\\S*) ?with family (?P<family>-?\\d+) is neither AF_INET": (
        "connecting to address ",
    ),
    "Bootstrap ?: no socket interface found|NET/Socket ?: no interface found|No usable listening interface found": (
        "Bootstrap : no socket interface found",
        "Bootstrap: no socket interface found",
        "NET/Socket : no interface found",
        "NET/Socket: no interface found",
        "No usable listening interface found",
    ),
    "no device found (?:matching|after excluding) (?P<interface>\\S+), verify (?P<variable>NCCL_\\w+)": (
        "no device found after excluding ",
        "no device found matching ",
    ),
    "No interface found in the same subnet as remote address (?P<peer>\\S+)": (
        "No interface found in the same subnet as remote address ",
    ),
    "error encountered when getting address info : (?P<error>[^\\r\\n]+)": (
        "error encountered when getting address info : ",
    ),
    "socketFinalizeAccept: wrong (?P<what>type|magic) (?P<found>\\w+) != (?P<expected>\\w+)": (
        "socketFinalizeAccept: wrong ",
    ),
    "didn't receive a valid magic from (?P<peer>\\S+)|socket magic mismatch": (
        "didn't receive a valid magic from ",
        "socket magic mismatch",
    ),
    "Bootstrap Root : mismatch in (?:rank count from procs|info from procs, nranks) (?P<local>\\d+) (?::|vs) (?P<remote>\\d+)": (
        "Bootstrap Root : mismatch in ",
    ),
    "Bootstrap Root : rank (?P<comm_rank>\\d+) of (?P<nranks>\\d+) ranks has already checked in": (
        " ranks has already checked in",
    ),
    "Mismatched NCCL version detected : rank (?P<comm_rank>\\d+) version (?P<version>\\d+) rank (?P<other_rank>\\d+) version (?P<other_version>\\d+)": (
        "Mismatched NCCL version detected : rank ",
    ),
    "NCCL version mismatch with remote peer (?P<peer>\\S+) \\(local: (?P<version>\\d+), remote (?P<other_version>\\d+)\\)": (
        "NCCL version mismatch with remote peer ",
    ),
    "Duplicate GPU detected : rank (?P<rank_a>\\d+) and rank (?P<rank_b>\\d+) both on CUDA device (?P<device>(?P<gpu>[0-9a-f]+))": (
        "Duplicate GPU detected : rank ",
    ),
    "Multiple Ranks are using the same GPU/Partition": (
        "Multiple Ranks are using the same GPU/Partition",
    ),
    "Invalid device (?P<device>-?\\d+) \\(totalnDev=(?P<devices>\\d+)\\)|invalid device count \\((?P<count_asked>-?\\d+)\\) requested": (
        "Invalid device ",
        "invalid device count (",
    ),
    "Test (?P<kind>NCCL|CUDA) failure \\S+:\\d+ '(?P<error>[^'\\r\\n]*)": (
        "Test CUDA failure ",
        "Test NCCL failure ",
    ),
    "Failed to (?P<what>CUDA calloc async|CUDA calloc|CUDA malloc|CUDA host alloc|malloc) (?P<bytes>\\d+) bytes": (
        "Failed to CUDA calloc ",
        "Failed to CUDA host alloc ",
        "Failed to CUDA malloc ",
        "Failed to malloc ",
    ),
    "Unrecoverable error detected: malloc\\(size=(?P<bytes>\\d+)\\) returned null": (
        "Unrecoverable error detected: malloc(size=",
    ),
    "CUDA Driver version found is (?P<found>\\d+)\\. Minimum requirement is (?P<required>\\d+)": (
        "CUDA Driver version found is ",
    ),
    "Failed to (?:open|find CUDA library) (?P<library>libnvidia-ml\\.so[.\\d]*|libcuda\\S*)|CUDA some PFN functions not found in the library|Retrieve (?P<symbol>cu\\w+) [^\\r\\n]*failed with (?P<code>\\d+)": (
        "CUDA some PFN functions not found in the library",
        "Failed to find CUDA library libcuda",
        "Failed to find CUDA library libnvidia-ml.so",
        "Failed to open libcuda",
        "Failed to open libnvidia-ml.so",
        "Retrieve cu",
    ),
    "(?P<call>nvml(?:Init|Device)\\w*)\\((?P<index>\\d+)?\\) failed: (?P<error>[^\\r\\n]+)": (
        "nvmlDevice",
        "nvmlInit",
    ),
    "failed to peer with device (?P<device>\\d+)\\(=(?P<bus>[0-9a-f]+)\\): (?P<code>\\d+) (?P<error>[^\\r\\n]+)": (
        "failed to peer with device ",
    ),
    "(?:cudaIpcGetMemHandle failed ?: |failed to open CUDA IPC handle : (?P<code>\\d+) )(?P<error>[^\\r\\n]+)": (
        "cudaIpcGetMemHandle failed",
        "failed to open CUDA IPC handle : ",
    ),
    "P2P is disabled between NVLINK connected GPUs (?P<gpu_a>\\d+) and (?P<gpu_b>\\d+)": (
        "P2P is disabled between NVLINK connected GPUs ",
    ),
    "(?:P2P is disabled between connected GPUs |P2P not supported between GPU)(?P<gpu_a>\\d+) and (?:GPU)?(?P<gpu_b>\\d+)": (
        "is disabled between connected GPUs ",
        "not supported between GPU",
    ),
    "Failed to bind NVLink SHARP \\(NVLS\\) Multicast memory of size (?P<bytes>\\d+) : CUDA error (?P<code>\\d+) '(?P<error>[^']*)'": (
        "Failed to bind NVLink SHARP (NVLS) Multicast memory of size ",
    ),
    "MNNVL \\(cliqueSize (?P<clique>\\d+)\\) is available but not (?P<what>supported|working)": (
        ") is available but not supported",
        ") is available but not working",
    ),
    "failed to extend (?P<path>\\S+) to (?P<size>\\d+) bytes(?:, error: (?P<error>[^(\\r\\n]+)\\((?P<errno>\\d+)\\))?": (
        "failed to extend ",
    ),
    "Failed to extend (?P<path>\\S+) to (?P<size>\\d+) bytes, error: (?P<error>[^(\\r\\n]+)\\((?P<errno>\\d+)\\) - retrying": (
        "Failed to extend ",
    ),
    "Error while (?P<call>creating|attaching to) shared memory segment (?P<path>\\S+) \\(size (?P<size>\\d+)\\)(?:, error: (?P<error>[^(\\r\\n]+)\\((?P<errno>\\d+)\\))?": (
        "Error while attaching to shared memory segment ",
        "Error while creating shared memory segment ",
    ),
    "Call to (?P<call>shm_open|open|posix_fallocate|ftruncate|mmap) failed ?: (?P<error>[^\\r\\n]+)": (
        "Call to ftruncate failed",
        "Call to mmap failed",
        "Call to open failed",
        "Call to posix_fallocate failed",
        "Call to shm_open failed",
    ),
    "Could not map (?P<path>\\S+) size (?P<size>\\d+), error: (?P<error>[^(\\r\\n]+)\\((?P<errno>\\d+)\\)": (
        "Could not map ",
    ),
    "cuMem host allocations do not appear to be working; falling back to a /dev/shm/ based": (
        "cuMem host allocations do not appear to be working; falling back to a /dev/shm/ based",
    ),
    "UDS: (?P<call>Binding to|Sending data over) socket (?P<path>\\S+) failed : (?P<error>[^(\\r\\n]+)\\((?P<errno>\\d+)\\)": (
        "UDS: Binding to socket ",
        "UDS: Sending data over socket ",
    ),
    "(?P<what>Add NVLink error|Add PCI Link error|Failed to find reverse path)": (
        "Add NVLink error",
        "Add PCI Link error",
        "Failed to find reverse path",
    ),
    'Missing \\"(?P<missing>iommu=pt|HSA_FORCE_FINE_GRAIN_PCIE=1)\\"|(?P<setting>NUMA auto balancing) enabled which can lead to variability': (
        'Missing "HSA_FORCE_FINE_GRAIN_PCIE=1"',
        'Missing "iommu=pt"',
        "NUMA auto balancing enabled which can lead to variability",
    ),
    "(?P<call>munmap|unlink)(?: of)? shared memory (?P<path>\\S+)(?: size \\d+)? failed": (
        "munmap of shared memory ",
        "munmap shared memory ",
        "unlink of shared memory ",
        "unlink shared memory ",
    ),
    "MNNVL [^\\r\\n]*\\bstate (?P<state>\\d+) healthMask (?P<health_mask>0x[0-9a-f]+)": (
        " healthMask 0x",
    ),
    "cudaArch (?P<arch>\\d+) ncclMaxSharedMem (?P<needed>\\d+) exceeds device/fn maxSharedMem (?P<available>-?\\d+)": (
        " exceeds device/fn maxSharedMem ",
    ),
    "No transport found (?:for rank (?P<src>\\d+)\\[[0-9a-f]+\\] -> rank (?P<dst>\\d+)\\[[0-9a-f]+\\]|!)": (
        "No transport found !",
        "No transport found for rank ",
    ),
    "Could not find a path for pattern (?P<pattern>\\d+), falling back to simple order": (
        "Could not find a path for pattern ",
    ),
    "(?:Could not find real path of|Topology detection ?: could not read) (?P<path>[^\\s,]+)": (
        "Could not find real path of ",
        "Topology detection : could not read ",
        "Topology detection: could not read ",
    ),
    "Could not open XML (?P<what>topology|graph) file (?P<path>\\S+) : (?P<error>[^\\r\\n]+)": (
        "Could not open XML graph file ",
        "Could not open XML topology file ",
    ),
    "XML Topology has wrong version (?P<found>\\d+), (?P<expected>\\d+) needed|XML Mismatch : (?P<mismatch>[^\\r\\n]+)|XML Parse error(?P<error>[^\\r\\n]*)|Attribute (?P<attribute>\\w+) of node (?P<node>\\w+) not found": (
        "Attribute ",
        "XML Mismatch : ",
        "XML Parse error",
        "XML Topology has wrong version ",
    ),
    "Rank (?P<comm_rank>\\d+) requires NIC (?P<net>\\S+) but that NIC is not available for rank (?P<other_rank>\\d+)": (
        " but that NIC is not available for rank ",
    ),
    "Could not find NIC for rank (?P<comm_rank>\\d+) in NVLS graph|Could not find intermediate GPU between GPU rank (?P<gpu_rank>\\d+) and NIC (?P<net>\\S+)|Could not find net id (?P<net_id>\\S+)|No path computed to go from (?P<path_from>\\S+) to (?P<path_to>\\S+)": (
        "Could not find NIC for rank ",
        "Could not find intermediate GPU between GPU rank ",
        "Could not find net id ",
        "No path computed to go from ",
    ),
    "Detected mixed local (?P<what>Net|CollNet) device counts across ranks \\(min (?P<minimum>\\d+), max (?P<maximum>\\d+)\\)": (
        "Detected mixed local CollNet device counts across ranks (min ",
        "Detected mixed local Net device counts across ranks (min ",
    ),
    "Error : no algorithm/protocol available(?: for function (?P<function>\\w+) with datatype (?P<datatype>\\w+))?": (
        "Error : no algorithm/protocol available",
    ),
    "Topology detection: network path (?P<path>\\S+) is not a PCI device \\((?P<interface>[^)\\r\\n]+)\\)": (
        "Topology detection: network path ",
    ),
    "(?:Trying to use non-existent virtual device|Requested properties for vNic) (?P<device>\\d+)(?:, only (?P<devices>\\d+) vNics)?": (
        "Requested properties for vNic ",
        "Trying to use non-existent virtual device ",
    ),
    "PXN should not use host buffers for data": ("PXN should not use host buffers for data",),
    "User asked for a minimum of (?P<value>\\d+) channels, limiting to (?P<used>\\d+)": (
        "User asked for a minimum of ",
    ),
    "(?:maxCTAs|minCTAs) (?P<value>\\d+) is larger than #channels upper limit (?P<used>\\d+)": (
        " is larger than #channels upper limit ",
    ),
    "TOPO/NET : Could not force merge NICs (?P<value>[^\\s.]+)": (
        "TOPO/NET : Could not force merge NICs ",
    ),
    "Tried merging multiple devices together and failed": (
        "Tried merging multiple devices together and failed",
    ),
    "(?P<name>NCCL_SOCKET_NTHREADS) is greater than the maximum allowed, setting to (?P<used>\\d+)": (
        "NCCL_SOCKET_NTHREADS is greater than the maximum allowed, setting to ",
    ),
    "OOO RQ is force enabled but (?P<reason>[^\\r\\n]+)": ("OOO RQ is force enabled but ",),
    "Net : No valid (?:<IPv4_or_hostname>:<port>|\\[IPv6\\]:port) pair found": (
        "Net : No valid <IPv4_or_hostname>:<port> pair found",
        "Net : No valid [IPv6]:port pair found",
    ),
    "(?P<name>NCCL_CGA_CLUSTER_SIZE) value (?P<value>\\d+) is too big": (
        "NCCL_CGA_CLUSTER_SIZE value ",
    ),
    "number of sockets is greater than the maximum allowed, setting (?P<name>NCCL_NSOCKS_PERTHREAD) to (?P<used>\\d+)": (
        "number of sockets is greater than the maximum allowed, setting NCCL_NSOCKS_PERTHREAD to ",
    ),
    "(?:Mismatched collective detected, please check your collective calls at and|this may be caused by a collective mismatch) around rank (?P<comm_rank>\\d+)": (
        "Mismatched collective detected, please check your collective calls at and around rank ",
        "this may be caused by a collective mismatch around rank ",
    ),
    "Coll (?P<op>\\w+) size (?P<bytes>\\d+) symmetric registration check failed on rank (?P<comm_rank>\\d+)": (
        " symmetric registration check failed on rank ",
    ),
    "(?:peer (?P<peer>\\S+) )?collective mismatch error,? local size (?P<local_size>\\d+) remote (?:size )?(?P<remote_size>\\d+)": (
        "collective mismatch error",
    ),
    "peer (?P<peer>\\S+) posted incorrect receive info: size (?P<remote_size>-?\\d+)": (
        " posted incorrect receive info: size ",
    ),
    "(?:peer (?P<peer>\\S+)|NET/Socket :) message truncated : receiving (?P<remote_size>\\d+) bytes instead of (?P<local_size>\\d+)": (
        " message truncated : receiving ",
    ),
    "Message truncated : received (?P<remote_size>\\d+) bytes instead of (?P<local_size>\\d+)": (
        "Message truncated : received ",
    ),
    "Mismatched response size for opId=": ("Mismatched response size for opId=",),
    "Rank (?P<comm_rank>\\d+) has no transport for (?P<direction>send|recv) peer (?P<peer_rank>-?\\d+) on channel": (
        " has no transport for recv peer ",
        " has no transport for send peer ",
    ),
    "(?P<op>\\w+) : (?P<argument>\\w+) allocated on device (?P<device>\\d+) mismatchs with NCCL device (?P<comm_device>\\d+)": (
        " mismatchs with NCCL device ",
    ),
    "(?P<op>AllReduce|AllGather|Broadcast|Bcast|Reduce|ReduceScatter|Send|Recv|AlltoAll|Gather|Scatter|nccl\\w+) : (?P<error>\\w+ argument is NULL|\\w+ (?:0x[0-9a-f]+ )?is not a valid pointer|invalid root -?\\d+|invalid type -?\\d+|invalid reduction operation -?\\d+|reduction operation -?\\d+ unknown to this communicator)": (
        " argument is NULL",
        " unknown to this communicator",
        "invalid reduction operation ",
        "invalid root ",
        "invalid type ",
        "is not a valid pointer",
    ),
    "(?P<error>Error: corrupted comm object detected|comm 0x[0-9a-f]+ has already been destroyed|Attempt to use communicator before the previous operation|ncclGroupEnd: not in a group call|Trying to send to self without|Trying to recv to self without|Blocking and nonblocking communicators are not allowed|Error : mixing different streams within a group call|Streams given to a communicator within a NCCL group|Too many aggregated operations|Too many async operations in progress|FP8 reduction support begins with sm90)": (
        " has already been destroyed",
        "Attempt to use communicator before the previous operation",
        "Blocking and nonblocking communicators are not allowed",
        "Error : mixing different streams within a group call",
        "Error: corrupted comm object detected",
        "FP8 reduction support begins with sm90",
        "Streams given to a communicator within a NCCL group",
        "Too many aggregated operations",
        "Too many async operations in progress",
        "Trying to recv to self without",
        "Trying to send to self without",
        "ncclGroupEnd: not in a group call",
    ),
    "NCCL library is too old\\. This application was compiled with NCCL version (?P<compiled>[\\d.]+), but is running with (?:NCCL library version )?(?P<running>[\\d.]+\\d)": (
        "NCCL library is too old. This application was compiled with NCCL version ",
    ),
    "application was compiled with too old version of NCCL|undefined symbol: (?P<symbol>p?nccl[A-Z]\\w+)": (
        "application was compiled with too old version of NCCL",
        "undefined symbol: nccl",
        "undefined symbol: pnccl",
    ),
    "List loop at element|Could not find NET with id [0-9a-f]+|Proxy append (?:on running operation|out of bounds)|Unable to post incomplete proxy op chain|could not find mr 0x[0-9a-f]+ inside cache|NET/IB : unable to allocate requests": (
        "Could not find NET with id ",
        "List loop at element",
        "NET/IB : unable to allocate requests",
        "Proxy append on running operation",
        "Proxy append out of bounds",
        "Unable to post incomplete proxy op chain",
        "could not find mr 0x",
    ),
    "Invalid config (?P<attribute>\\w+) attribute value (?P<value>\\S+)|ncclConfig_t argument not initialized via (?P<missing>NCCL_CONFIG_INITIALIZER)": (
        " attribute value ",
        "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER",
    ),
    "Child comms \\(nRanks (?P<nranks>\\d+)\\) fails to share parent comms|Split shares resources, but parent comm netName (?P<parent>\\S+) is different": (
        ") fails to share parent comms",
        "Split shares resources, but parent comm netName ",
    ),
    "Failed to determine local ranks rank (?P<comm_rank>\\d+) hostHash (?P<hash>\\w+)": (
        "Failed to determine local ranks rank ",
    ),
    "Invalid rank requested : (?P<comm_rank>-?\\d+)/(?P<nranks>-?\\d+)": (
        "Invalid rank requested : ",
    ),
    "improper usage of ncclCommInitRank: nId = -?\\d+, nranks=(?P<nranks>-?\\d+)|ncclCommInitRank: improper usage": (
        "improper usage of ncclCommInitRank: nId = ",
        "ncclCommInitRank: improper usage",
    ),
    "Failed to execute operation (?P<operation>\\w+) from rank (?P<comm_rank>\\d+), retcode (?P<code>\\d+)": (
        "Failed to execute operation ",
    ),
    "Error encountered progressing operation=(?P<operation>\\w+), res=(?P<code>\\d+)": (
        "Error encountered progressing operation=",
    ),
    "Could not receive type from localRank (?P<comm_local_rank>\\d+)|\\[Service thread\\] Accept failed": (
        "Could not receive type from localRank ",
        "[Service thread] Accept failed",
    ),
    "Proxy Call to rank (?P<comm_rank>\\d+) failed(?: \\((?P<operation>\\w+)\\))?|Socket recv failed while polling for opId=|Proxy response for opId=\\S+ doesn't match any expected|Comm 0x[0-9a-f]+ is in abort state": (
        " is in abort state",
        "Proxy Call to rank ",
        "Proxy response for opId=",
        "Socket recv failed while polling for opId=",
    ),
    "ncclAsyncJobComplete: job 0x[0-9a-f]+ failed, job error (?P<code>\\d+)": (
        "ncclAsyncJobComplete: job 0x",
    ),
    "ncclCommSetAsyncError: error comm 0x[0-9a-f]+ sets state (?P<code>\\d+)|commReclaim: comm 0x[0-9a-f]+ \\(rank = (?P<comm_rank>\\d+)\\) in abort": (
        "commReclaim: comm 0x",
        "ncclCommSetAsyncError: error comm 0x",
    ),
    "ncclProxyClientGetFd call to tpRank (?P<comm_rank>\\d+) handle \\S+ failed : (?P<code>\\d+)": (
        "ncclProxyClientGetFd call to tpRank ",
    ),
    "hostStreamPlanCallback\\(\\) failed|Failure in host setup :|Legacy IPC cleanup callback failed|commDestroySync: comm 0x[0-9a-f]+ rank (?P<comm_rank>\\d+) sync deviceStream error (?P<code>\\d+)": (
        "Failure in host setup :",
        "Legacy IPC cleanup callback failed",
        "commDestroySync: comm 0x",
        "hostStreamPlanCallback() failed",
    ),
    "Unexpected connections are not empty|NET/Socket : (?:socket progress error|test called with NULL request|unable to allocate (?:requests|subtasks))|ncclIbIsend\\(\\) called when comm->base\\.ready == 0": (
        "NET/Socket : socket progress error",
        "NET/Socket : test called with NULL request",
        "NET/Socket : unable to allocate requests",
        "NET/Socket : unable to allocate subtasks",
        "Unexpected connections are not empty",
        "ncclIbIsend() called when comm->base.ready == 0",
    ),
    "\\[Service thread\\] Connection closed by localRank (?P<comm_local_rank>\\d+)": (
        "[Service thread] Connection closed by localRank ",
    ),
    "Plugin Path : (?P<path>\\S+)|NET/Plugin ?: Loaded net plugin (?P<name>[^(\\r\\n]+)": (
        "NET/Plugin : Loaded net plugin ",
        "NET/Plugin: Loaded net plugin ",
        "Plugin Path : ",
    ),
    "(?:Using internal network plugin|No plugin found \\([^)\\r\\n]*\\), using internal implementation)": (
        "), using internal implementation",
        "Using internal network plugin",
    ),
    "Error: network (?P<plugin>[^\\r\\n]+) not found": ("Error: network ",),
    "Plugin load returned (?P<code>-?\\d+) : (?P<error>[^\\r\\n]*): when loading (?P<plugin>\\S+)": (
        "Plugin load returned ",
    ),
    "NET/Plugin ?: (?:dlerror=|Plugin load \\((?P<plugin>[^)\\r\\n]*)\\) returned \\d+ : )(?P<error>[^\\r\\n]*)": (
        "NET/Plugin : Plugin load (",
        "NET/Plugin : dlerror=",
        "NET/Plugin: Plugin load (",
        "NET/Plugin: dlerror=",
    ),
    "External network plugin (?P<plugin>\\S+) is unsupported": ("External network plugin ",),
    "Cannot initialize CollNet, using point-to-point network instead": (
        "Cannot initialize CollNet, using point-to-point network instead",
    ),
    "NET/OFI Request [^\\r\\n]*completed with error[.:] (?:RC: (?P<code>-?\\d+)\\. Error: (?:\\d+ ?\\()?(?P<error>[^,.\\r\\n]+)|err: (?P<err>\\d+), [^\\r\\n]*prov_errno: (?P<provider_error>-?\\d+), strerror: (?P<text>[^,\\r\\n]+))": (
        "completed with error. RC: ",
        "completed with error. err: ",
        "completed with error: RC: ",
        "completed with error: err: ",
    ),
    "NET/OFI Couldn't open (?P<what>[\\w /]+)\\. RC: (?P<code>-?\\d+), ERROR: (?P<error>[^\\r\\n]+)": (
        "NET/OFI Couldn't open ",
    ),
    "NET/OFI (?:No eligible providers were found|Failed to initialize \\w+|Could not find any optimal provider(?:\\s*$))": (
        "NET/OFI Could not find any optimal provider",
        "NET/OFI Failed to initialize ",
        "NET/OFI No eligible providers were found",
    ),
    "Failed to initialize NET plugin (?P<plugin>\\S+)": ("Failed to initialize NET plugin ",),
    "CollNet is not supported or fails to initialize, ignoring NCCL_ALGO=COLLNET": (
        "CollNet is not supported or fails to initialize, ignoring NCCL_ALGO=COLLNET",
    ),
    "SHARP coll init error: (?P<error>[^(\\r\\n]+)\\((?P<code>-?\\d+)\\)": (
        "SHARP coll init error: ",
    ),
    "rx ctrl timeout cnt (?P<count>\\d+), nanos (?P<nanoseconds>\\d+)": ("rx ctrl timeout cnt ",),
    "libfabric:(?P<pid>\\d+):[\\d:]+efa:[^\\r\\n]*<warn>[^\\r\\n]* err: (?P<code>\\d+), message: (?P<error>.*?)(?: My EFA addr|$)": (
        "libfabric:",
    ),
    "\\[(?P<host>[\\w.-]+):(?P<pid>\\d+):\\d+\\] +(?P<source_file>[\\w.]+):(?P<source_line>\\d+) +UCX +(?P<severity>ERROR|FATAL) +(?P<message>[^\\r\\n]+)": (
        " UCX ",
    ),
    "RAS (?:declaring peer |handling deadPeer \\(addr |dead peer \\d+: )(?P<process>(?P<peer>[^\\s;)<]+)[^\\s;)]*)": (
        "RAS dead peer ",
        "RAS declaring peer ",
        "RAS handling deadPeer (addr ",
    ),
    "RAS (?:keep-alive|connect) timeout (?P<severity>warning|error) \\((?P<lasted>\\d+)s\\) on socket connection with (?P<peer>[^\\s,]+)": (
        "s) on socket connection with ",
    ),
    "RAS [^\\r\\n]*socket connection with (?P<peer>[^\\s,]+) closed by peer": (
        "socket connection with ",
    ),
    "RAS connection from peer (?P<peer>\\S+) that is considered dead": (
        "RAS connection from peer ",
    ),
    "^\\s*Process (?P<process>\\d+) on node (?P<node>(?P<host>\\S+)) managing GPUs? (?P<device>[\\d, ]+)": (
        " managing GPU ",
        " managing GPUs ",
    ),
    "Pattern (?P<pattern>\\d+), crossNic (?P<cross_nic>\\d+), nChannels (?P<channels>\\d+), (?:bw|speed) (?P<bandwidth>[\\d.]+)/(?P<bandwidth_between>[\\d.]+), (?:nvlink \\d+, )?type (?P<type>\\w+)/(?P<type_between>\\w+)": (
        ", nChannels ",
    ),
    "=== System : max(?:Bw|Width) (?P<bandwidth>[\\d.]+) total(?:Bw|Width) (?P<total>[\\d.]+) ===": (
        "=== System : maxBw ",
        "=== System : maxWidth ",
    ),
    "NCCL INFO Trees \\[0\\]": ("NCCL INFO Trees [0]",),
    "Bootstrap timings total (?P<total>[\\d.]+) \\(create (?P<create>[\\d.]+), send (?P<send>[\\d.]+), recv (?P<receive>[\\d.]+), ring (?P<ring>[\\d.]+)": (
        "Bootstrap timings total ",
    ),
    "Connected all (?P<what>rings|trees)(?:, use ring PXN (?P<pxn>\\d) GDR (?P<gdr>\\d))?": (
        "Connected all rings",
        "Connected all trees",
    ),
    "Watchdog caught collective operation timeout: Work\\w*\\((?:SeqNum=(?P<seq>\\d+), )?OpType=(?P<op>\\w+)(?:, TensorShape=\\[(?P<shape>[^\\]\\r\\n]*)\\])?(?:, NumelIn=(?P<numel_in>\\d+), NumelOut=(?P<numel_out>\\d+))?(?:, Timeout\\(ms\\)=(?P<timeout>\\d+)\\))?(?: ran for (?P<lasted>\\d+) milliseconds)?": (
        "Watchdog caught collective operation timeout: Work",
    ),
    "Work Work\\w*\\((?:SeqNum=(?P<seq>\\d+), )?OpType=(?P<op>\\w+)(?:, TensorShape=\\[(?P<shape>[^\\]\\r\\n]*)\\])?(?:, NumelIn=(?P<numel_in>\\d+), NumelOut=(?P<numel_out>\\d+))?(?:, Timeout\\(ms\\)=(?P<timeout>\\d+)\\))? timed out in (?P<waited_in>blocking wait|call to wait\\(\\))": (
        " timed out in blocking wait",
        " timed out in call to wait()",
    ),
    "Caught collective operation timeout: Work\\w*\\((?:SeqNum=(?P<seq>\\d+), )?OpType=(?P<op>\\w+)(?:, TensorShape=\\[(?P<shape>[^\\]\\r\\n]*)\\])?(?:, NumelIn=(?P<numel_in>\\d+), NumelOut=(?P<numel_out>\\d+))?(?:, Timeout\\(ms\\)=(?P<timeout>\\d+)\\))?(?: ran for (?P<lasted>\\d+) milliseconds)?": (
        "Caught collective operation timeout: Work",
    ),
    "[Ll]ast enqueued (?:NCCL )?work: (?P<last_enqueued>-?\\d+)(?:, last started (?:NCCL )?work: (?P<last_started>-?\\d+))?, last completed (?:NCCL )?work: (?P<last_completed>-?\\d+)": (
        ", last completed NCCL work: ",
        ", last completed work: ",
    ),
    "watchdog got stuck for (?P<lasted>\\d+) seconds without making progress|Heartbeat monitor timed out!": (
        " seconds without making progress",
        "Heartbeat monitor timed out!",
    ),
    "Could not acquire GIL within (?P<waited>\\d+) ms on exit": ("Could not acquire GIL within ",),
    "(?:watchdog thread terminated|Event query failed) with exception: (?P<error>[^\\r\\n]+)": (
        "Event query failed with exception: ",
        "watchdog thread terminated with exception: ",
    ),
    "To avoid data inconsistency, we are taking the entire process down|Some NCCL operations have failed or timed out\\. Due to the asynchronous nature|Terminating the process after attempting to dump debug info": (
        "Some NCCL operations have failed or timed out. Due to the asynchronous nature",
        "Terminating the process after attempting to dump debug info",
        "To avoid data inconsistency, we are taking the entire process down",
    ),
    "NCCL communicator was aborted on rank (?P<pg_rank>\\d+)\\.(?: +Original reason for failure was: (?P<reason>[^\\r\\n]*))?": (
        "NCCL communicator was aborted on rank ",
    ),
    "Wrote aborted communicator id to store: NCCLABORTEDCOMM": (
        "Wrote aborted communicator id to store: NCCLABORTEDCOMM",
    ),
    "remote error detected from rank: (?P<by_rank>\\d+)": ("remote error detected from rank: ",),
    "from rank: (?P<by_rank>\\d+)\\. This means that rank has aborted its NCCL communicators": (
        ". This means that rank has aborted its NCCL communicators",
    ),
    "Health check failure: Failed to initialize NCCL communicator on rank (?P<pg_rank>\\d+)": (
        "Health check failure: Failed to initialize NCCL communicator on rank ",
    ),
    "using GPU (?P<device>\\d+) (?:as device used by this process is|to perform barrier as devices used by this process are) currently unknown|Guessing device ID based on global rank": (
        "Guessing device ID based on global rank",
        "as device used by this process is",
        "to perform barrier as devices used by this process are",
    ),
    "ProcessGroupNCCL monitor thread is disabled, but would have (?P<instead>terminated the process)|PGNCCL Monitor Thread is disabled|BLOCKING_WAIT is enabled, NO watchdog thread is created|Only (?:TORCH_)?NCCL_BLOCKING_WAIT is being used": (
        "BLOCKING_WAIT is enabled, NO watchdog thread is created",
        "Only NCCL_BLOCKING_WAIT is being used",
        "Only TORCH_NCCL_BLOCKING_WAIT is being used",
        "PGNCCL Monitor Thread is disabled",
        "ProcessGroupNCCL monitor thread is disabled, but would have terminated the process",
    ),
    "destroy_process_group\\(\\) was not called before program exit|process group has NOT been destroyed before": (
        "destroy_process_group() was not called before program exit",
        "process group has NOT been destroyed before",
    ),
    "An unbatched P2P op \\(send/recv\\) was called on this ProcessGroup": (
        "An unbatched P2P op (send/recv) was called on this ProcessGroup",
    ),
    "(?P<error>Attempt to perform collective on tensor not on device passed to init_process_group|Tensors must be CUDA and dense|Detected non-contiguous tensor|output tensor size must be equal to world_size times input tensor size|Split sizes doesn't match total dim 0 size|Tensors must have identical type)": (
        "Attempt to perform collective on tensor not on device passed to init_process_group",
        "Detected non-contiguous tensor",
        "Split sizes doesn't match total dim 0 size",
        "Tensors must be CUDA and dense",
        "Tensors must have identical type",
        "output tensor size must be equal to world_size times input tensor size",
    ),
    "Received a (?:global dump signal|dump signal due to a collective timeout) from {1,2}rank (?P<by_rank>\\d+)": (
        "Received a dump signal due to a collective timeout from ",
        "Received a global dump signal from ",
    ),
    "Observed flight recorder dump signal from another rank": (
        "Observed flight recorder dump signal from another rank",
    ),
    "Received a dump signal (?:due to a collective timeout )?from this local rank|Broadcasting flight recorder dump signal to other processes|First PG on this rank to signal dumping": (
        "Broadcasting flight recorder dump signal to other processes",
        "First PG on this rank to signal dumping",
        "Received a dump signal due to a collective timeout from this local rank",
        "Received a dump signal from this local rank",
    ),
    "(?:ProcessGroupNCCL dumping nccl trace to|Finished writing NCCLPG debug info to|Finished writing FlightRecorder debug info to) (?P<path>\\S+)": (
        "Finished writing FlightRecorder debug info to ",
        "Finished writing NCCLPG debug info to ",
        "ProcessGroupNCCL dumping nccl trace to ",
    ),
    "Error opening file for writing (?:NCCLPG|FlightRecorder) debug info: (?P<path>\\S+)": (
        "Error opening file for writing ",
    ),
    "Failed to retrieve \\w*NCCL_DESYNC_DEBUG report\\.(?: Please file an issue\\. Error: (?P<error>[^\\r\\n]+))?": (
        "NCCL_DESYNC_DEBUG report.",
    ),
    "Ranks? (?P<missing>\\d[\\d, ]*) failed to pass monitoredBarrier in (?P<lasted>\\d+) ms": (
        " failed to pass monitoredBarrier in ",
    ),
    "Rank (?P<pg_rank>\\d+) successfully reached monitoredBarrier, but received errors": (
        " successfully reached monitoredBarrier, but received errors",
    ),
    "Monitored Barrier encountered error running collective: CollectiveFingerPrint\\((?:SequenceNumber=(?P<seq>\\d+),? ?)?OpType=(?P<op>[A-Z_]+)": (
        "Monitored Barrier encountered error running collective: CollectiveFingerPrint(",
    ),
    "Detected uneven input skew of greater than \\d+\\. This means that rank (?P<rank>\\d+) has at least (?P<fewer>\\d+) fewer inputs": (
        "Detected uneven input skew of greater than ",
    ),
    "Detected at least one rank that exhausted inputs\\. Throwing across all ranks": (
        "Detected at least one rank that exhausted inputs. Throwing across all ranks",
    ),
    "\\[(?P<pg_rank>\\d+)\\] is setting up NCCL communicator and (?:retrieving|retreiving) ncclUniqueId from \\[(?P<target_rank>\\d+)\\] via c10d key-value store by key '(?P<key>[^']*)'(?:, but store->get\\('[^']*'\\) got error: (?P<error>[^\\r\\n]*))?": (
        "] via c10d key-value store by key '",
    ),
    "wait timeout after \\d+ms, keys: (?P<key>[^\\r\\n]+)": ("wait timeout after ",),
    "(?:Error: |\\] )Socket Timeout|waitForInput: socket SocketImpl\\([^\\r\\n]*\\) timed out after (?P<lasted>\\d+)ms": (
        "Error: Socket Timeout",
        "] Socket Timeout",
        "waitForInput: socket SocketImpl(",
    ),
    "Timed out after (?P<lasted>\\d+) seconds waiting for clients\\. (?P<joined>\\d+)/(?P<expected>\\d+) clients joined": (
        " seconds waiting for clients. ",
    ),
    "(?P<call>\\w+) failed on SocketImpl\\([^\\r\\n]*remote=\\[?(?P<peer>[^\\]\\s]+)\\]?:(?P<port>\\d+)\\): (?P<error>[^\\r\\n]+)": (
        " failed on SocketImpl(",
    ),
    'Failed to check the \\"should dump\\" flag on TCPStore, \\(maybe TCPStore server has shut down too early\\)(?:, with error: (?P<error>[^\\r\\n]+))?': (
        'Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early)',
    ),
    "Failed to recv, got 0 bytes\\. Connection was likely closed|(?:DistNetworkError|DistStoreError): (?P<error>Connection reset by peer|Broken pipe|failed to recv, got 0 bytes)|Store is down while (?:updating|getting)|(?P<unexpected>Stop_waiting response is expected)": (
        "DistNetworkError: Broken pipe",
        "DistNetworkError: Connection reset by peer",
        "DistNetworkError: failed to recv, got 0 bytes",
        "DistStoreError: Broken pipe",
        "DistStoreError: Connection reset by peer",
        "DistStoreError: failed to recv, got 0 bytes",
        "Failed to recv, got 0 bytes. Connection was likely closed",
        "Stop_waiting response is expected",
        "Store is down while getting",
        "Store is down while updating",
    ),
    "client socket has failed to connect to \\[?(?P<peer>[^\\]\\s]+)\\]?:(?P<port>\\d+) \\(errno: (?P<errno>\\d+) - (?P<error>[^)\\r\\n]+)": (
        "client socket has failed to connect to ",
    ),
    "client socket has timed out after (?P<lasted>\\d+ ?m?s) while trying to connect to \\((?P<peer>[^,\\s]+), (?P<port>\\d+)\\)": (
        "s while trying to connect to (",
    ),
    "Error: (?P<error>connect\\(\\) timed out)(?:\\. Original timeout was (?P<lasted>\\d+ ms))?": (
        "Error: connect() timed out",
    ),
    "TCP client failed to connect/validate to host (?P<peer>\\S+):(?P<port>\\d+) - retrying[^\\r\\n:]*: (?P<error>[^\\r\\n]+)": (
        "TCP client failed to connect/validate to host ",
    ),
    "TCP client failed to connect/validate to host (?P<peer>\\S+):(?P<port>\\d+) - timed out": (
        "TCP client failed to connect/validate to host ",
    ),
    "The (?P<family>IPv[46]) network addresses of \\((?P<peer>[^,\\s]+), (?P<port>\\d+)\\) cannot be retrieved \\(gai error: (?P<code>-?\\d+) - (?P<error>[^)\\r\\n]+)": (
        ") cannot be retrieved (gai error: ",
    ),
    "[Aa]ddress already in use|EADDRINUSE": (
        "Address already in use",
        "EADDRINUSE",
        "address already in use",
    ),
    "gloo/transport/\\S+\\] (?P<error>Connection closed by peer|Read error|Write error|Application timeout caused pair closure)(?: \\[(?P<peer>[^\\]\\s]+)\\]:(?P<port>\\d+))?(?:: (?P<detail>[^\\r\\n]+))?": (
        "gloo/transport/",
    ),
    "gloo/transport/\\S+\\] Timed out waiting (?P<lasted>\\d+)ms for (?P<direction>recv|send) operation to complete": (
        "ms for recv operation to complete",
        "ms for send operation to complete",
    ),
    "op\\.preamble\\.length <= op\\.nbytes\\. (?P<received>\\d+) vs (?P<expected>\\d+)": (
        "op.preamble.length <= op.nbytes. ",
    ),
    "Unable to resolve hostname to a \\(local\\) address\\. Using the loopback address as fallback": (
        "Unable to resolve hostname to a (local) address. Using the loopback address as fallback",
    ),
    "Unable to find address for: (?P<interface>\\S+)": ("Unable to find address for: ",),
    "Gloo connectFullMesh failed with (?P<error>[^\\r\\n]+)": (
        "Gloo connectFullMesh failed with ",
    ),
    "gloo/transport/\\S+\\] [Cc]onnect(?: timeout)? \\[(?P<peer>[^\\]\\s]+)\\](?::(?P<port>\\d+))?(?:: (?P<error>[^\\r\\n]+))?": (
        "gloo/transport/",
    ),
    "gloo/transport/\\S+\\] rv != -1\\. -1 vs -1\\. connect: (?P<error>[A-Z][A-Za-z ]+)": (
        "] rv != -1. -1 vs -1. connect: ",
    ),
    "SO_ERROR: (?P<error>[A-Za-z ]+), remote=\\[(?P<peer>[^\\]\\s]+)\\]": ("SO_ERROR: ",),
    "Rendezvous(?P<reason>Timeout|Connection|Closed|State|GracefulExit)Error(?:: (?P<error>[^\\r\\n]+))?": (
        "RendezvousClosedError",
        "RendezvousConnectionError",
        "RendezvousGracefulExitError",
        "RendezvousStateError",
        "RendezvousTimeoutError",
    ),
    "The node '(?P<node>[^']*)' has failed to (?P<action>send a keep-alive heartbeat to|shutdown|close) the rendezvous '(?P<endpoint>[^']*)' due to an error of type (?P<reason>\\w+)": (
        "' due to an error of type ",
    ),
    "The server socket has failed to (?:bind to|listen on) \\[?(?P<address>[^\\]\\s]+)\\]?:(?P<port>\\d+) \\(errno: (?P<errno>\\d+) - (?P<error>[^)\\r\\n]+)": (
        "The server socket has failed to ",
    ),
    "failed to listen on any local network address\\. port: (?P<port>\\d+), useIpv6: \\w+, code: -(?P<errno>\\d+), name: E\\w+, message: (?P<error>[^\\r\\n]+)": (
        "failed to listen on any local network address. port: ",
    ),
    "Starting store with (?P<workers>\\d+) workers but somaxconn is (?P<somaxconn>\\d+)": (
        " workers but somaxconn is ",
    ),
    "client without VALIDATE query is detected": ("client without VALIDATE query is detected",),
    "failed \\(exitcode: (?P<exit_code>-?\\d+)\\) local_rank: (?P<local_rank>\\d+) \\(pid: (?P<pid>\\d+)\\)": (
        "failed (exitcode: ",
    ),
    "Sending process (?P<pid>\\d+) closing signal (?P<signal>SIG[A-Z0-9]+)": (
        " closing signal SIG",
    ),
    "Received (?P<signal>[\\w.]+) death signal, shutting down workers": (
        " death signal, shutting down workers",
    ),
    "SignalException: Process (?P<pid>\\d+) got signal: (?P<signal>\\d+)": (
        "SignalException: Process ",
    ),
    "Unable to shutdown process (?P<pid>\\d+) via (?P<signal>[\\w.]+), forcefully exitt?ing via": (
        "Unable to shutdown process ",
    ),
    "Worker group (?P<state>[A-Z]+)\\. (?P<attempts_left>\\d+)/(?P<maximum>\\d+) attempts left; will restart worker group": (
        " attempts left; will restart worker group",
    ),
    "Detected (?P<new_nodes>\\d+) new nodes from group_rank=(?P<group_rank>\\d+); will restart worker group": (
        "; will restart worker group",
    ),
    "Local worker group finished \\((?:WorkerState\\.)?(?P<state>[A-Z]+)\\)": (
        "Local worker group finished (",
    ),
    "worker group successfully finished": ("worker group successfully finished",),
    "exits with return code = (?P<exit_code>-?\\d+)": ("exits with return code = ",),
    "Killing subprocess (?P<pid>\\d+)": ("Killing subprocess ",),
    "noticed that process rank (?P<rank>\\d+) with PID (?P<pid>\\d+) on node (?P<host>\\S+) exited on signal (?P<signal_number>\\d+)": (
        "noticed that process rank ",
    ),
    "MPI_ABORT was invoked on rank (?P<rank>\\d+)": ("MPI_ABORT was invoked on rank ",),
    "RANK (?P<rank>\\d+) PID (?P<pid>\\d+) RUNNING AT (?P<host>\\S+)": (" RUNNING AT ",),
    "srun: error: (?P<host>[^\\s:]+): tasks? (?P<tasks>[\\d,\\[\\]-]+): Exited with exit code (?P<exit_code>\\d+)": (
        ": Exited with exit code ",
    ),
    "pdsh@[^\\s:]+: (?P<host>[^\\s:]+): \\w+ exited with exit code (?P<exit_code>\\d+)": (
        " exited with exit code ",
    ),
    "returned non-zero exit status (?P<exit_code>\\d+)": ("returned non-zero exit status ",),
    "died with <Signals\\.(?P<signal>SIG\\w+): \\d+>": ("died with <Signals.SIG",),
    "^(?:\\[\\d+\\][+-]? +)?(?P<words>Killed|Segmentation fault|Bus error|Illegal instruction|Floating point exception)(?: +\\(core dumped\\))?(?: {2,}\\S.*)?$": (
        "Bus error",
        "Floating point exception",
        "Illegal instruction",
        "Killed",
        "Segmentation fault",
    ),
    '(?:[Ee]xit code|[Ee]rror code|[Ee]xit status|exit_code|[Ee]xited with(?: code| status)?)\\"?(?: is| was)?[ :=]{1,3}(?P<exit_code>137|139|135|-9|-11|-7)\\b': (
        "Error code",
        "Exit code",
        "Exit status",
        "Exited with",
        "error code",
        "exit code",
        "exit status",
        "exit_code",
        "exited with",
    ),
    "ProcessExitedException: process (?P<local_rank>\\d+) terminated with signal (?P<signal>SIG\\w+)": (
        "ProcessExitedException: process ",
    ),
    "ProcessExitedException: process (?P<local_rank>\\d+) terminated with exit code (?P<exit_code>\\d+)": (
        "ProcessExitedException: process ",
    ),
    "-- Process (?P<local_rank>\\d+) terminated with the following error:": (
        " terminated with the following error:",
    ),
    "(?:^|[\\s|\\]])(?P<type>(?:[A-Za-z_]\\w*\\.)*[A-Z]\\w*(?:Error|Exception|ExceptionGroup)): (?P<message>\\S.*)": (
        "Error: ",
        "Exception: ",
        "ExceptionGroup: ",
    ),
    "^[\\s|]*(?P<type>(?:[A-Za-z_]\\w*\\.)*[A-Z]\\w*(?:Error|Exception|ExceptionGroup)):?\\s*$": (
        "Error",
        "Exception",
    ),
    "^[\\s|]*(?P<type>(?:[A-Za-z_]\\w*\\.)*(?:ArrowInvalid|ArrowTypeError|OutOfResources|TimeoutExpired|StopIteration|StopAsyncIteration|SystemExit|KeyboardInterrupt|\\w+\\.Timeout|HTTPStatusError|BackendCompilerFailed|Unsupported|EntryNotFound|ActorUnavailable|BrokenExecutor|BrokenProcessPool|UnidentifiedImage))(?:: (?P<message>.*))?$": (
        ".Timeout",
        "ActorUnavailable",
        "ArrowInvalid",
        "ArrowTypeError",
        "BackendCompilerFailed",
        "BrokenExecutor",
        "BrokenProcessPool",
        "EntryNotFound",
        "HTTPStatusError",
        "KeyboardInterrupt",
        "OutOfResources",
        "StopAsyncIteration",
        "StopIteration",
        "SystemExit",
        "TimeoutExpired",
        "UnidentifiedImage",
        "Unsupported",
    ),
    "^\\S*python[\\d.]*: (?P<message>No module named .*)": (": No module named ",),
    "^\\S*python[\\d.]*: can't open file '?(?P<path>[^']+)'?: (?P<message>\\[Errno \\d+\\] .*)": (
        ": can't open file ",
    ),
    "Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit\\.(?: Requested size: (?P<requested>[\\d.]+(?: bytes| [KMGT]i?B)?))?": (
        "Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit.",
    ),
    "Preemptively rejecting allocation: requested (?P<requested>[\\d.]+(?: bytes| [KMGT]i?B)?), but total_allocated_memory \\((?P<allocated>[\\d.]+(?: bytes| [KMGT]i?B)?)\\) \\+ requested size would exceed memory limit \\((?P<limit>[\\d.]+(?: bytes| [KMGT]i?B)?) = [\\d.]+% of (?P<capacity>[\\d.]+(?: bytes| [KMGT]i?B)?)\\)": (
        "Preemptively rejecting allocation: requested ",
    ),
    "(?P<status>(?:CU|HIP)BLAS_STATUS_ALLOC_FAILED) when calling `(?P<call>\\w+)": (
        "CUBLAS_STATUS_ALLOC_FAILED when calling `",
        "HIPBLAS_STATUS_ALLOC_FAILED when calling `",
    ),
    "(?P<status>CUBLAS_STATUS_NOT_INITIALIZED) when calling `(?P<call>cublasCreate)": (
        "CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate",
    ),
    "cuDNN error: (?P<status>CUDNN_STATUS_ALLOC_FAILED|CUDNN_STATUS_NOT_INITIALIZED)": (
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
    ),
    "Unable to find a valid cuDNN algorithm|FIND was unable to find an engine to execute": (
        "FIND was unable to find an engine to execute",
        "Unable to find a valid cuDNN algorithm",
    ),
    "Cuda failure (?:\\d+ )?'out of memory'": ("'out of memory'",),
    "Failed to CUDA (?:host )?(?:alloc|calloc|malloc) (?:async )?(?P<requested>\\d+ bytes)": (
        "Failed to CUDA alloc ",
        "Failed to CUDA calloc ",
        "Failed to CUDA host alloc ",
        "Failed to CUDA host calloc ",
        "Failed to CUDA host malloc ",
        "Failed to CUDA malloc ",
    ),
    "CUDA driver error: out of memory": ("CUDA driver error: out of memory",),
    "expandable_segments: memory (?:mapping|allocation) failed with OOM on device (?P<gpu_index>\\d+) while trying to (?:map|allocate) (?P<requested>\\d+ bytes)(?: \\(free: (?P<free>\\d+), total: (?P<capacity>\\d+)\\))?": (
        "expandable_segments: memory ",
    ),
    "(?:CUDA|HIP) error: out of memory": ("CUDA error: out of memory", "HIP error: out of memory"),
    "cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|\\[CUDA\\] out of memory": (
        "CUDA_ERROR_OUT_OF_MEMORY",
        "[CUDA] out of memory",
        "cudaErrorMemoryAllocation",
    ),
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate (?P<requested>\\d[\\d.,]* ?(?:[KMGTP]i?)?(?:B|bytes))": (
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate ",
    ),
    "Allocator \\(GPU_(?P<gpu_index>\\d+)_bfc\\) ran out of memory trying to allocate (?P<requested>\\d[\\d.,]* ?(?:[KMGTP]i?)?(?:B|bytes))": (
        "_bfc) ran out of memory trying to allocate ",
    ),
    "OOM when allocating tensor with shape ?\\[(?P<shape>[\\d,]*)\\](?: and type (?P<element>\\w+))?(?: on \\S*GPU:(?P<gpu_index>\\d+))?": (
        "OOM when allocating tensor with shape",
    ),
    "failed to allocate \\S+ \\((?P<requested>\\d+ bytes)\\) from device: CUDA_ERROR_OUT_OF_MEMORY": (
        " bytes) from device: CUDA_ERROR_OUT_OF_MEMORY",
    ),
    "cupy\\.cuda\\.memory\\.OutOfMemoryError: Out of memory allocating (?P<requested>[\\d,]+ bytes)(?: \\(allocated so far: (?P<allocated>[\\d,]+ bytes))?": (
        "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating ",
    ),
    "std::bad_alloc: out_of_memory: CUDA error": ("std::bad_alloc: out_of_memory: CUDA error",),
    "cudaMalloc failed: out of memory|CUDA failure 2: out of memory|ggml_cuda\\w*: .{0,200}out of memory": (
        "out of memory",
    ),
    "\\b(?P<count>\\d+) CUDA memory allocation retries\\.": (" CUDA memory allocation retries.",),
    "\\b(?P<count>\\d+) pytorch allocator cache flushes since last step": (
        " pytorch allocator cache flushes since last step",
    ),
    "CachingAllocator option max_split_size_mb too small, must be >": (
        "CachingAllocator option max_split_size_mb too small, must be >",
    ),
    "Tensors allocated with expandable_segments:True cannot be shared between processes": (
        "Tensors allocated with expandable_segments:True cannot be shared between processes",
    ),
    "PYTORCH_CUDA_ALLOC_CONF is deprecated, use PYTORCH_ALLOC_CONF instead": (
        "PYTORCH_CUDA_ALLOC_CONF is deprecated, use PYTORCH_ALLOC_CONF instead",
    ),
    "(?P<backend>CUDA|HIP) (?:driver )?error: (?P<message>\\S.*)": (
        "CUDA driver error: ",
        "CUDA error: ",
        "HIP driver error: ",
        "HIP error: ",
    ),
    "(?:cuda|hip) runtime error \\((?P<code>\\d+)\\) ?: (?P<message>.*?)(?: at (?:[/.]|[A-Za-z]:)|$)": (
        "cuda runtime error (",
        "hip runtime error (",
    ),
    "THCudaCheck FAIL file=.{1,300} line=\\d+ error=(?P<code>\\d+) : (?P<message>.*)": (
        "THCudaCheck FAIL file=",
    ),
    "Unexpected error from cudaGetDeviceCount\\(\\).{0,400}Error (?P<code>\\d+): (?P<message>[^(]*)": (
        "Unexpected error from cudaGetDeviceCount()",
    ),
    "(?P<message>No CUDA GPUs are available)": ("No CUDA GPUs are available",),
    "(?P<message>Found no NVIDIA driver on your system)": (
        "Found no NVIDIA driver on your system",
    ),
    "(?P<message>The NVIDIA driver on your system is too old \\(found version \\d+\\))": (
        "The NVIDIA driver on your system is too old (found version ",
    ),
    "(?P<message>CUDA unknown error - this may be due to an incorrectly set up environment)": (
        "CUDA unknown error - this may be due to an incorrectly set up environment",
    ),
    "(?:^|\\s)(?P<source>[^\\s:]+):(?P<source_line>\\d+): .*block: \\[[\\d,]+\\], thread: \\[[\\d,]+\\] Assertion `(?P<assertion>[^`]*?)` failed": (
        "] Assertion `",
    ),
    "(?:^|[:=([{'\"\\]>,-] ?|(?:returned|with|error|code|got|status) )(?P<message>MPS client failed to connect to the MPS control daemon or the MPS server|Invalid access of peer GPU memory over nvlink or a hardware error|system has unsupported display driver / cuda driver combination|CUDA driver version is insufficient for CUDA runtime version|the provided PTX was compiled with an unsupported toolchain|MPS server is not ready to accept new MPS client requests|no kernel image is available for execution on the device|uncorrectable NVLink error detected during the execution|forward compatibility was attempted on non supported HW|operation failed due to a previous error during capture|API call is not supported in the installed CUDA driver|operation not supported on global/shared address space|OS call failed or operation not supported on this OS|MPS client failed to communicate with the MPS server|all CUDA-capable devices are busy or unavailable|an illegal memory access was encountered|too many resources requested for launch|the launch timed out and was terminated|an illegal instruction was encountered|uncorrectable ECC error encountered|no CUDA-capable device is detected|device-side assert triggered|unspecified launch failure|system not yet initialized|invalid program counter|invalid device ordinal)(?:\\.?\\s*$|['\"):,;(\\]}]|\\. | [(;]| (?:at|in) )": (
        "API call is not supported in the installed CUDA driver",
        "CUDA driver version is insufficient for CUDA runtime version",
        "Invalid access of peer GPU memory over nvlink or a hardware error",
        "MPS client failed to communicate with the MPS server",
        "MPS client failed to connect to the MPS control daemon or the MPS server",
        "MPS server is not ready to accept new MPS client requests",
        "OS call failed or operation not supported on this OS",
        "all CUDA-capable devices are busy or unavailable",
        "an illegal instruction was encountered",
        "an illegal memory access was encountered",
        "device-side assert triggered",
        "forward compatibility was attempted on non supported HW",
        "invalid device ordinal",
        "invalid program counter",
        "no CUDA-capable device is detected",
        "no kernel image is available for execution on the device",
        "operation failed due to a previous error during capture",
        "operation not supported on global/shared address space",
        "system has unsupported display driver / cuda driver combination",
        "system not yet initialized",
        "the launch timed out and was terminated",
        "the provided PTX was compiled with an unsupported toolchain",
        "too many resources requested for launch",
        "uncorrectable ECC error encountered",
        "uncorrectable NVLink error detected during the execution",
        "unspecified launch failure",
    ),
    "(?:^|[:=([{'\"\\]>,-] ?|(?:returned|with|error|code|got|status) )(?P<message>cudaError(?:UnsupportedPtxVersion|Unknown|SystemNotReady|SystemDriverMismatch|StreamCaptureInvalidated|OperatingSystem|NvlinkUncorrectable|NoKernelImageForDevice|NoDevice|MpsServerNotReady|MpsRpcFailure|MpsConnectionFailed|MisalignedAddress|LaunchTimeout|LaunchOutOfResources|LaunchFailure|InvalidPc|InvalidDevice|InvalidAddressSpace|InsufficientDriver|IllegalInstruction|IllegalAddress|HardwareStackError|ECCUncorrectable|DevicesUnavailable|Contained|CompatNotSupportedOnDevice|CallRequiresNewerDriver|Assert))(?:\\.?\\s*$|['\"):,;(\\]}]|\\. | [(;]| (?:at|in) )": (
        "cudaError",
    ),
    "(?:^|[:=([{'\"\\]>,-] ?|(?:returned|with|error|code|got|status) )(?P<message>CUDA_ERROR_(?:UNSUPPORTED_PTX_VERSION|UNKNOWN|SYSTEM_NOT_READY|SYSTEM_DRIVER_MISMATCH|OPERATING_SYSTEM|NVLINK_UNCORRECTABLE|NO_DEVICE|NO_BINARY_FOR_GPU|MPS_SERVER_NOT_READY|MPS_RPC_FAILURE|MPS_CONNECTION_FAILED|MISALIGNED_ADDRESS|LAUNCH_TIMEOUT|LAUNCH_OUT_OF_RESOURCES|LAUNCH_FAILED|INVALID_PC|INVALID_DEVICE|INVALID_ADDRESS_SPACE|ILLEGAL_INSTRUCTION|ILLEGAL_ADDRESS|HARDWARE_STACK_ERROR|ECC_UNCORRECTABLE|DEVICE_UNAVAILABLE|CONTAINED|COMPAT_NOT_SUPPORTED_ON_DEVICE|ASSERT))(?:\\.?\\s*$|['\"):,;(\\]}]|\\. | [(;]| (?:at|in) )": (
        "CUDA_ERROR_",
    ),
    "(?:CUDA|Cuda|cuda|HIP|GPUassert|nvrtc).{0,160}(?:[:=('\"\\]-] ?|(?:returned|with|error) )(?P<message>hardware stack error|initialization error|misaligned address|named symbol not found|operation not permitted|operation not supported|unknown error)(?:\\.?\\s*$|['\"):,;(\\]]| [(;]| \\S+\\.(?:cu|cpp|cc|h)\\b)": (
        "hardware stack error",
        "initialization error",
        "misaligned address",
        "named symbol not found",
        "operation not permitted",
        "operation not supported",
        "unknown error",
    ),
    "(?P<message>(?:Failed to initialize NVML|nvml error): [Dd]river/library version mismatch)": (
        "Failed to initialize NVML: Driver/library version mismatch",
        "Failed to initialize NVML: driver/library version mismatch",
        "nvml error: Driver/library version mismatch",
        "nvml error: driver/library version mismatch",
    ),
    "(?P<message>(?:Failed to initialize NVML|nvml error): (?:Unknown Error|unknown error|GPU access blocked.*|[Ii]nsufficient [Pp]ermissions))": (
        "Failed to initialize NVML: GPU access blocked",
        "Failed to initialize NVML: Insufficient Permissions",
        "Failed to initialize NVML: Insufficient permissions",
        "Failed to initialize NVML: Unknown Error",
        "Failed to initialize NVML: insufficient Permissions",
        "Failed to initialize NVML: insufficient permissions",
        "Failed to initialize NVML: unknown error",
        "nvml error: GPU access blocked",
        "nvml error: Insufficient Permissions",
        "nvml error: Insufficient permissions",
        "nvml error: Unknown Error",
        "nvml error: insufficient Permissions",
        "nvml error: insufficient permissions",
        "nvml error: unknown error",
    ),
    "(?P<message>(?:Failed to initialize NVML|nvml error): (?:Driver Not Loaded|driver not loaded|N/A)|couldn't communicate with the NVIDIA driver)": (
        "Failed to initialize NVML: Driver Not Loaded",
        "Failed to initialize NVML: N/A",
        "Failed to initialize NVML: driver not loaded",
        "couldn't communicate with the NVIDIA driver",
        "nvml error: Driver Not Loaded",
        "nvml error: N/A",
        "nvml error: driver not loaded",
    ),
    "(?P<message>No devices were found)": ("No devices were found",),
    "Unable to determine the device handle for (?:GPU ?(?P<index>\\d{1,3}): |GPU )?(?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\\.\\d): (?P<message>.*)": (
        "Unable to determine the device handle for ",
    ),
    "(?:^|[\\[:|']) {0,40}(?:\\d{1,3} {1,10})?(?P<message>GPU is lost(?:\\. {1,2}Reboot the system to recover this GPU)?)": (
        "GPU is lost",
    ),
    "(?:^|[\\[:|']) {0,40}(?:\\d{1,3} {1,10})?(?P<message>GPU requires reset)": (
        "GPU requires reset",
    ),
    "(?P<message>\\[Unknown Error\\])": ("[Unknown Error]",),
    "NVML library version: (?P<version>\\d+\\.\\d+(?:\\.\\d+)?)": ("NVML library version: ",),
    "(?:^|\\s)(?P<driver>[\\w-]+) (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): PCIe Bus Error: severity=(?P<severity>\\w+(?: \\([\\w-]+\\))?)(?:, type=(?P<layer>[\\w ]+))?": (
        ": PCIe Bus Error: severity=",
    ),
    "AER: (?:Multiple )?(?P<severity>(?:Unc|C)orrect\\w+(?: \\([\\w-]+\\))?) error (?:message )?received(?: from |: )(?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?)": (
        " error message received from ",
        " error message received: ",
        " error received from ",
        " error received: ",
    ),
    "pcieport (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): (?:pcieport: )?DPC: (?P<message>containment event|unmasked uncorrectable error detected|ERR_FATAL|RP PIO error).*": (
        ": DPC: ERR_FATAL",
        ": DPC: RP PIO error",
        ": DPC: containment event",
        ": DPC: unmasked uncorrectable error detected",
    ),
    "pcieport (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): pciehp: Slot\\([^)]*\\): (?P<message>Link Down|Card not present|Power fault)": (
        ": pciehp: Slot(",
    ),
    "mce: \\[Hardware Error\\]: (?P<message>CPU \\d+: Machine Check.*)": (
        "mce: [Hardware Error]: CPU ",
    ),
    "EDAC MC\\d+: \\d+ CE (?P<message>.*)": ("EDAC MC",),
    "EDAC MC\\d+: \\d+ UE (?P<message>.*)": ("EDAC MC",),
    "Kernel panic - not syncing: (?P<message>.*)": ("Kernel panic - not syncing: ",),
    "(?P<message>[Cc]ritical temperature reached.*shutting down)": (
        "Critical temperature reached",
        "critical temperature reached",
    ),
    "(?P<process>[^\\s\\[]+)\\[(?P<pid>\\d+)\\]: segfault at [0-9a-f]+ ip [0-9a-f]+ sp [0-9a-f]+ error \\d+(?: in (?P<library>[^\\s\\[]+))?": (
        "]: segfault at ",
    ),
    "traps: (?P<process>[^\\s\\[]+)\\[(?P<pid>\\d+)\\] (?P<message>general protection fault|trap invalid opcode)(?:.* in (?P<library>[^\\s\\[]+))?": (
        "] general protection fault",
        "] trap invalid opcode",
    ),
    "(?P<message>DMAR: \\[[^\\]]*\\] .*fault.*|AMD-Vi: Event logged \\[IO_PAGE_FAULT.*)": (
        "AMD-Vi: Event logged [IO_PAGE_FAULT",
        "DMAR: [",
    ),
    "(?P<scope>Memory cgroup out of memory|Out of memory[\\w ()]*?): Kill(?:ed)? process (?P<pid>\\d+) \\((?P<process>[^)]+)\\)(?:.{0,60}?total-vm:(?P<total_vm>\\d+kB), anon-rss:(?P<anon_rss>\\d+kB)(?:, file-rss:(?P<file_rss>\\d+kB))?(?:, shmem-rss:(?P<shmem_rss>\\d+kB))?)?": (
        ": Kill process ",
        ": Killed process ",
    ),
    "^Killed process (?P<pid>\\d+),? (?:UID \\d+, )?\\((?P<process>[^)]+)\\),? (?:UID \\d+, )?total-vm:(?P<total_vm>\\d+kB), anon-rss:(?P<anon_rss>\\d+kB)(?:, file-rss:(?P<file_rss>\\d+kB))?(?:, shmem-rss:(?P<shmem_rss>\\d+kB))?": (
        "Killed process ",
    ),
    "oom-kill:constraint=(?P<constraint>\\w+),(?:.{0,400}?oom_memcg=(?P<memcg>[^,]*),)?(?:.{0,400}?task_memcg=(?P<task_memcg>[^,]*),)?task=(?P<process>[^,]+),pid=(?P<pid>\\d+)": (
        "oom-kill:constraint=",
    ),
    "oom_reaper: reaped process (?P<pid>\\d+) \\((?P<process>[^)]+)\\)": (
        "oom_reaper: reaped process ",
    ),
    "memory: usage (?P<usage>\\d+kB), limit (?P<limit>\\d+kB), failcnt (?P<failcnt>\\d+)": (
        "memory: usage ",
    ),
    "Tasks in (?P<memcg>\\S+) are going to be killed due to memory\\.oom\\.group set": (
        " are going to be killed due to memory.oom.group set",
    ),
    "Task in (?P<task_memcg>\\S+) killed as a result of limit of (?P<memcg>\\S+)": (
        " killed as a result of limit of ",
    ),
    "^oom_kill (?P<kills>\\d+)$": ("oom_kill ",),
    "(?P<process>\\S+): page allocation failure: order:(?P<order>\\d+), mode:": (
        ": page allocation failure: order:",
    ),
    "cgroup: fork rejected by pids controller in (?P<cgroup>\\S+)": (
        "cgroup: fork rejected by pids controller in ",
    ),
    "I/O error, dev (?P<device>[\\w.-]+), sector \\d+": (", sector ",),
    "Buffer I/O error on dev (?P<device>[\\w.-]+)": ("Buffer I/O error on dev ",),
    "critical medium error, dev (?P<device>[\\w.-]+)": ("critical medium error, dev ",),
    "EXT4-fs error \\(device (?P<device>[\\w.-]+)\\): (?P<message>.*)": ("EXT4-fs error (device ",),
    "XFS \\((?P<device>[\\w.-]+)\\): (?P<message>.*(?:I/O error|Corruption|shut).*)": ("XFS (",),
    "(?P<message>Remounting filesystem read-only)": ("Remounting filesystem read-only",),
    "nvme (?P<device>nvme\\d+): I/O (?:tag )?\\d+ .{0,60}QID \\d+ timeout, (?P<message>[\\w ]+)": (
        "nvme nvme",
    ),
    "nvme (?P<device>nvme\\d+): (?P<message>controller is down; will reset.*|Disabling device after reset failure.*|Removing after probe failure.*)": (
        "Disabling device after reset failure",
        "Removing after probe failure",
        "controller is down; will reset",
    ),
    "block (?P<device>[\\w.-]+): (?P<message>no available path - failing I/O)": (
        "no available path - failing I/O",
    ),
    "(?P<message>attempt to access beyond end of device)": (
        "attempt to access beyond end of device",
    ),
    "md/raid[^:]*:.{0,40} Disk failure on (?P<device>[\\w.-]+)": (" Disk failure on ",),
    "LustreError: .{0,120}This client was evicted by (?P<device>[\\w-]+)": (
        "This client was evicted by ",
    ),
    "LustreError: .{0,120}operation (?P<message>\\w+ to node \\S+ failed: rc = -\\d+)": (
        " failed: rc = -",
    ),
    "(?P<message>Request sent has timed out for slow reply).{0,200}->(?P<device>[\\w-]+)@": (
        "Request sent has timed out for slow reply",
    ),
    "(?:\\bmmfs\\w*(?:\\[\\d+\\])?: \\[[EX]\\] |^\\[[EX]\\] )(?P<message>.*(?:file system manager|expel|unmount|quorum|disk lease|[Dd]isk failure|Stale NFS).*)": (
        "Disk failure",
        "Stale NFS",
        "disk failure",
        "disk lease",
        "expel",
        "file system manager",
        "quorum",
        "unmount",
    ),
    "(?P<device>libceph: osd\\d+) .{0,60}(?P<message>socket closed)": ("socket closed",),
    "NFS: .{0,80}(?P<message>Lock reclaim failed|Stale file handle)": (
        "Lock reclaim failed",
        "Stale file handle",
    ),
    "nfs: server (?P<server>\\S+) not responding, (?P<message>still trying|timed out)": (
        " not responding, still trying",
        " not responding, timed out",
    ),
    "nfs: server (?P<server>\\S+) OK": ("nfs: server ",),
    "Lustre: .{0,80}Connection to (?P<server>[\\w-]+) \\(at (?P<address>\\S+)\\) was lost": (
        "Connection to ",
    ),
    "Lustre: .{0,80}Connection restored to (?P<server>\\S+)": ("Connection restored to ",),
    "(?P<server>ceph: mds\\d+) .{0,60}(?:hung|caps stale)": ("ceph: mds",),
    "(?P<driver>mlx5_core) (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?)(?: (?P<device>[\\w.-]+))?: (?:\\w+:\\d+:\\(pid \\d+\\): )?(?P<message>Link down)": (
        "mlx5_core ",
    ),
    "(?P<driver>mlx5_core) (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?)(?: (?P<device>[\\w.-]+))?: (?:\\w+:\\d+:\\(pid \\d+\\): )?(?P<message>Link up)": (
        "mlx5_core ",
    ),
    "(?P<driver>mlx5_core) (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?)(?: (?P<device>[\\w.-]+))?: (?:\\w+:\\d+:\\(pid \\d+\\): )?(?P<message>Port module event(?:\\[error\\])?: module \\d+, Cable (?:unplugged|error).*)": (
        "Port module event: module ",
        "Port module event[error]: module ",
    ),
    "(?P<driver>mlx5_core) (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?)(?: (?P<device>[\\w.-]+))?: (?:\\w+:\\d+:\\(pid \\d+\\): )?(?P<message>Port module event: module \\d+, Cable plugged)": (
        "Port module event: module ",
    ),
    "(?P<driver>mlx5_core) (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?)(?: (?P<device>[\\w.-]+))?: (?:\\w+:\\d+:\\(pid \\d+\\): )?(?P<message>Health issue observed.*|.*health compromised - reached miss count.*|Driver is in error state.*|PCI slot is unavailable.*|health recovery failed.*|.*firmware internal error.*)": (
        "Driver is in error state",
        "Health issue observed",
        "PCI slot is unavailable",
        "firmware internal error",
        "health compromised - reached miss count",
        "health recovery failed",
    ),
    "(?P<driver>mlx5_core) (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?)(?: (?P<device>[\\w.-]+))?: (?:\\w+:\\d+:\\(pid \\d+\\): )?(?P<message>health recovery succe\\w+)": (
        "health recovery succe",
    ),
    "(?P<driver>mlx5_core) (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?)(?: (?P<device>[\\w.-]+))?: (?:\\w+:\\d+:\\(pid \\d+\\): )?(?P<message>[A-Z_0-9]+\\(0x[0-9a-f]+\\) timeout\\. Will cause a leak of a command resource)": (
        ") timeout. Will cause a leak of a command resource",
    ),
    "(?P<driver>mlx5_core) (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?)(?: (?P<device>[\\w.-]+))?: (?:\\w+:\\d+:\\(pid \\d+\\): )?(?P<message>TX timeout (?:detected|on queue).*)": (
        "TX timeout detected",
        "TX timeout on queue",
    ),
    "(?P<driver>mlx5_core) (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?)(?: (?P<device>[\\w.-]+))?: (?:\\w+:\\d+:\\(pid \\d+\\): )?(?P<message>High temperature on sensors.*)": (
        "High temperature on sensors",
    ),
    "(?P<driver>mlx5_core) (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?)(?: (?P<device>[\\w.-]+))?: (?:\\w+:\\d+:\\(pid \\d+\\): )?(?P<message>Detected insufficient power on the PCIe slot.*)": (
        "Detected insufficient power on the PCIe slot",
    ),
    "(?P<driver>mlx5_core) (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?)(?: (?P<device>[\\w.-]+))?: (?:\\w+:\\d+:\\(pid \\d+\\): )?(?P<message>port \\d+ .{0,40}state change.{0,40}\\b(?:[Dd]own|DOWN|ERR\\w*))": (
        "state change",
    ),
    "(?P<driver>bnxt_en|ice|i40e|ixgbe|igb|qede|ionic|ena|atlantic) (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?)(?: (?P<device>[\\w.-]+))?: (?P<message>(?:NIC )?Link is (?:Down|down))": (
        ": Link is Down",
        ": Link is down",
        ": NIC Link is Down",
        ": NIC Link is down",
    ),
    "(?P<driver>bnxt_en|ice|i40e|ixgbe|igb|qede|ionic|ena|atlantic) (?P<pci>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?)(?: (?P<device>[\\w.-]+))?: (?P<message>(?:NIC )?Link is (?:Up|up).*)": (
        ": Link is Up",
        ": Link is up",
        ": NIC Link is Up",
        ": NIC Link is up",
    ),
    "(?P<driver>bond\\w*): \\(slave (?P<device>[\\w.-]+)\\): (?P<message>link status definitely down)": (
        "link status definitely down",
    ),
    "NETDEV WATCHDOG: (?:CPU: \\d+: )?(?P<device>[\\w.-]+) \\((?P<driver>\\w+)\\): (?P<message>transmit queue \\d+ timed out.*)": (
        "): transmit queue ",
    ),
    "infiniband (?P<nic>\\w+): (?:\\w+:\\d+:\\(pid \\d+\\): )?(?P<message>async reg mr failed.*)": (
        "async reg mr failed",
    ),
    "NVRM: Xid \\((?:PCI:)?(?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?)(?: GPU-I:(?P<gpu_instance>\\d+))?(?: GPU-CI:(?P<compute_instance>\\d+))?\\): (?P<code>\\d+)(?:, pid=(?:(?P<pid>\\d+)|'?<?\\w*>?'?))?(?:, name=(?P<process>[^,]+))?(?:, (?P<message>.*?))?(?: caused by previous Xid (?P<previous>\\d+))?$": (
        "NVRM: Xid (",
    ),
    "nvidia-nvswitch(?P<switch>\\d+): SXid \\(PCI:(?P<pci>[0-9A-Fa-f:.]+)\\): (?P<code>\\d+)(?:, ?(?P<printed>Fatal|Non-fatal))?(?:, (?:Link (?P<link>\\d+) ?)?(?P<message>.*))?": (
        "nvidia-nvswitch",
    ),
    "NVRM: GPU (?:at )?(?:PCI:)?(?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): GPU has fallen off the bus": (
        ": GPU has fallen off the bus",
    ),
    "NVRM: (?:GPU (?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): )?(?P<message>RmInitAdapter failed!.*|rm_init_adapter failed.*|No NVIDIA GPU found.*|This PCI I/O region assigned to your NVIDIA device is invalid.*)": (
        "No NVIDIA GPU found",
        "RmInitAdapter failed!",
        "This PCI I/O region assigned to your NVIDIA device is invalid",
        "rm_init_adapter failed",
    ),
    "NVRM: knvlink(?:UpdatePostRxDetectLinkMask|DiscoverPostRxDetLinks)\\w*: (?P<message>.*)": (
        "NVRM: knvlinkDiscoverPostRxDetLinks",
        "NVRM: knvlinkUpdatePostRxDetectLinkMask",
    ),
    "NVRM: GPU at PCI:(?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): (?P<uuid>GPU-[0-9a-f-]+)": (
        "NVRM: GPU at PCI:",
    ),
    "NVRM: GPU Board Serial Number: (?P<serial>\\w+)": ("NVRM: GPU Board Serial Number: ",),
    "NVRM: loading NVIDIA UNIX .{0,40}Kernel Module .{0,20}?(?P<version>\\d{3}\\.\\d+(?:\\.\\d+)?)": (
        "NVRM: loading NVIDIA UNIX ",
    ),
    "nv_get_p2p_free_callback:\\d+ ERROR detected invalid context": ("nv_get_p2p_free_callback:",),
    "amdgpu (?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): (?:amdgpu: )?(?:\\[drm:[^\\]]*\\] \\*ERROR\\* )?ring (?P<ring>\\S+) timeout, (?P<message>signaled.*)": (
        " timeout, signaled",
    ),
    "amdgpu_job_timedout[^\\]]*\\]\\] \\*ERROR\\* ring (?P<ring>\\S+) timeout, (?P<message>signaled.*)": (
        "amdgpu_job_timedout",
    ),
    "amdgpu (?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): (?:amdgpu: )?ring (?P<ring>\\S+) timeout, but soft recovered": (
        " timeout, but soft recovered",
    ),
    "amdgpu (?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): (?:amdgpu: )?(?P<message>\\[\\w+\\] (?:no-)?retry page fault.*)": (
        "] no-retry page fault",
        "] retry page fault",
    ),
    "amdgpu (?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): (?:amdgpu: )?(?:socket: \\d+, )?(?:die: \\d+ )?(?P<errors>[1-9]\\d*) uncorrectable hardware errors detected in (?:total in )?(?P<block>\\w+) block": (
        " uncorrectable hardware errors detected in ",
    ),
    "amdgpu (?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): (?:amdgpu: )?(?P<message>Uncorrectable error detected in UMC.*)": (
        "Uncorrectable error detected in UMC",
    ),
    "amdgpu (?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): (?:amdgpu: )?(?:socket: \\d+, )?(?:die: \\d+ )?(?P<errors>[1-9]\\d*) correctable hardware errors detected in (?:total in )?(?P<block>\\w+) block": (
        " correctable hardware errors detected in ",
    ),
    "amdgpu (?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): (?:amdgpu: )?(?P<message>RAS poison consumption, .*|GPU reset for \\w+ RAS poison consumption is issued!)": (
        " RAS poison consumption is issued!",
        "RAS poison consumption, ",
    ),
    "amdgpu (?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): (?:amdgpu: )?(?P<message>(?:.{0,80}[ ,])?[Pp]oison is created, no user action is needed)": (
        "Poison is created, no user action is needed",
        "poison is created, no user action is needed",
    ),
    "amdgpu (?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): (?:amdgpu: )?(?P<message>GPU reset begin!.*)": (
        ": GPU reset begin!",
    ),
    "amdgpu (?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): (?:amdgpu: )?(?P<message>GPU reset(?:\\(\\d+\\))? failed|GPU reset end with ret = -\\d+)": (
        ": GPU reset",
    ),
    "amdgpu (?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): (?:amdgpu: )?(?P<message>VRAM is lost due to GPU reset!)": (
        "VRAM is lost due to GPU reset!",
    ),
    "amdgpu (?P<gpu>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\\.[0-7])?): (?:amdgpu: )?(?P<message>Not enough memory for command submission!)": (
        "Not enough memory for command submission!",
    ),
    "HW Exception by GPU node-(?P<node>\\d+) \\(Agent handle: \\w+\\) reason ?: ?(?P<message>\\S.*)": (
        "HW Exception by GPU node-",
    ),
    "Memory access fault by GPU node-(?P<node>\\d+) \\(Agent handle: \\w+\\) on address (?P<address>(?:0x)?[0-9a-f]+|\\(nil\\))\\. Reason: (?P<reason>[^.]+)": (
        "Memory access fault by GPU node-",
    ),
    "Queue (?P<queue>0x[0-9a-fA-F]+) aborting with error ?: ?(?P<status>HSA_STATUS_ERROR\\w*)(?:: (?P<message>.*))?": (
        " aborting with error : HSA_STATUS_ERROR",
        " aborting with error :HSA_STATUS_ERROR",
        " aborting with error: HSA_STATUS_ERROR",
        " aborting with error:HSA_STATUS_ERROR",
    ),
    "detected NVSwitch (?P<printed>fatal|non-fatal) error (?P<code>\\d+) on (?:fid \\d+ on )?NVSwitch pci bus id (?P<pci>[0-9A-Fa-f:.]+)(?: physical id (?P<switch>\\d+))?(?: port (?P<link>\\d+))?": (
        "detected NVSwitch fatal error ",
        "detected NVSwitch non-fatal error ",
    ),
    "detected number of NVSwitches don't match with any supported system topology": (
        "detected number of NVSwitches don't match with any supported system topology",
    ),
    "driver interface version (?P<manager>\\d[\\d.]*) (?:don.t|does not|doesn.t) match with driver version (?P<driver>\\d[\\d.]*)": (
        "t match with driver version ",
    ),
    "failed to find the GPU handle (?P<handle>\\d+) in the multicast team request": (
        "failed to find the GPU handle ",
    ),
    "nvidia-fabricmanager\\.service: (?P<message>Failed with result|Main process exited).*": (
        "nvidia-fabricmanager.service: ",
    ),
    "NV_WARN_NOTHING_TO_DO": ("NV_WARN_NOTHING_TO_DO",),
    "^(?:\\d+/\\d+: |\\d+: )?link (?P<device>[\\w.-]+)/(?P<port>\\d+) (?:subnet_prefix (?P<gid>[0-9a-f:]+) lid (?P<lid>\\d+) sm_lid (?P<sm_lid>\\d+) lmc \\d+ )?state (?P<state>[A-Z_]+) physical_state (?P<phys_state>[A-Z_]+)(?: netdev (?P<netdev>\\S+))?": (
        " physical_state ",
    ),
    "Fatal error: {1,2}(?P<message>No devices|device '[^']*': sys files not found)": (
        "Fatal error: ",
    ),
    "^(?P<message>0 HCAs found|No IB devices found)": ("0 HCAs found", "No IB devices found"),
    "libibverbs: Warning: no userspace device-specific driver found for (?P<device>\\S+)": (
        "libibverbs: Warning: no userspace device-specific driver found for ",
    ),
    "libibverbs: Warning: couldn't (?:load driver '(?P<device>[^']+)'|open config directory)": (
        "libibverbs: Warning: couldn't ",
    ),
    "\\*\\*\\* (?P<kind>JOB|STEP) (?P<id>[\\d.+]+) ON (?P<host>\\S+) CANCELLED AT (?P<at>\\S+)(?: DUE (?:TO|to) (?P<why>[^*]{1,120}))? \\*\\*\\*": (
        " CANCELLED AT ",
    ),
    "^\\s*(?P<job>\\d+(?:_\\d+)?)(?:\\.(?P<step>[\\w+]+))?[ |](?:.{0,200}[ |])?(?P<state>COMPLETED|RUNNING|PENDING|FAILED|CANCELLED|TIMEOUT|DEADLINE|PREEMPTED|OUT_OF_MEM?O?R?Y?|NODE_FAIL|BOOT_FAIL|REQUEUED)(?: by (?P<by>\\d+))?(?:[+ |]|$)": (
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_ME",
        "PENDING",
        "PREEMPTED",
        "REQUEUED",
        "RUNNING",
        "TIMEOUT",
    ),
    "\\b(?:Job)?State=(?P<state>COMPLETED|RUNNING|PENDING|FAILED|CANCELLED|TIMEOUT|DEADLINE|PREEMPTED|OUT_OF_MEM?O?R?Y?|NODE_FAIL|BOOT_FAIL|REQUEUED)\\b(?: Reason=(?P<message>\\S+))?": (
        "State=",
    ),
    "STEPD TERMINATED ON (?P<host>\\S+) AT \\S+ DUE TO JOB NOT ENDING WITH SIGNALS": (
        " DUE TO JOB NOT ENDING WITH SIGNALS",
    ),
    "error: Node failure on (?P<host>[\\w.,\\[\\]-]+)": ("error: Node failure on ",),
    "Killing JobId=(?P<job>\\d+) on failed node (?P<host>[\\w.-]+)": ("Killing JobId=",),
    "error: Nodes (?P<host>[\\w.,\\[\\]-]+) not responding": (" not responding",),
    "Detected (?P<events>\\d+) oom[-_]kill events?(?:\\(s\\))? in (?:StepId=|step )(?P<job>\\d+)\\.(?P<step>[\\w+]+)": (
        " oom-kill event in StepId=",
        " oom-kill event in step ",
        " oom-kill event(s) in StepId=",
        " oom-kill event(s) in step ",
        " oom-kill events in StepId=",
        " oom-kill events in step ",
        " oom-kill events(s) in StepId=",
        " oom-kill events(s) in step ",
        " oom_kill event in StepId=",
        " oom_kill event in step ",
        " oom_kill event(s) in StepId=",
        " oom_kill event(s) in step ",
        " oom_kill events in StepId=",
        " oom_kill events in step ",
        " oom_kill events(s) in StepId=",
        " oom_kill events(s) in step ",
    ),
    "(?:StepId=|[Ss]tep |Job )(?P<job>\\d+)(?:\\.(?P<step>\\w+))? exceeded (?:job |step )?memory limit": (
        " exceeded job memory limit",
        " exceeded memory limit",
        " exceeded step memory limit",
    ),
    "srun: Job step aborted|srun: Force Terminated (?:StepId=|job step )(?P<job>\\d+)|Timed out waiting for job step to complete": (
        "Timed out waiting for job step to complete",
        "srun: Force Terminated StepId=",
        "srun: Force Terminated job step ",
        "srun: Job step aborted",
    ),
    "(?P<message>Unable to create TMPDIR|couldn't chdir to|task_prolog failed|launch failed requeued held)": (
        "Unable to create TMPDIR",
        "couldn't chdir to",
        "launch failed requeued held",
        "task_prolog failed",
    ),
    '^\\s*(?:[Rr]eason|\\"reason\\"):\\s+\\"?(?P<reason>OOMKilled|ContainerCannotRun|DeadlineExceeded|ContainerStatusUnknown)\\b(?:, Exit Code: (?P<exit_code>\\d+))?': (
        "ContainerCannotRun",
        "ContainerStatusUnknown",
        "DeadlineExceeded",
        "OOMKilled",
    ),
    '(?:[,;{(\\[\\"]\\s*|[:=]\\s?\\"?[\\w./-]{1,80}\\"?,?\\s)\\"?(?:[Rr]eason|[Ss]tatus)\\"?[:=]\\s*\\"?(?P<reason>OOMKilled)\\b': (
        "OOMKilled",
    ),
    "(?:\\b(?:was|been|got|is|due to|because of|[Tt]erminated(?::| with)?) |\\()(?P<reason>OOMKilled)\\b": (
        "OOMKilled",
    ),
    '\\"?OOMKilled\\"?[:=]\\s?(?:true|True)\\b': ("OOMKilled",),
    "^\\s*Exit Code:\\s+(?P<exit_code>[1-9]\\d*)$": ("Exit Code:",),
    "^(?P<pod>[\\w.-]+) +\\d+/\\d+ +(?P<reason>OOMKilled|ContainerStatusUnknown) ": (
        " ContainerStatusUnknown ",
        " OOMKilled ",
    ),
    "The node was low on resource: (?P<resource>[\\w-]+)\\.": ("The node was low on resource: ",),
    "The node had condition: \\[(?P<resource>\\w+Pressure)": ("The node had condition: [",),
    "Pod ephemeral local storage usage exceeds the total limit": (
        "Pod ephemeral local storage usage exceeds the total limit",
    ),
    'Usage of EmptyDir volume \\"(?P<volume>[^\\"]+)\\" exceeds the limit': (
        'Usage of EmptyDir volume "',
    ),
    "System OOM encountered, victim process: (?P<process>[^,]+), pid: (?P<pid>\\d+)": (
        "System OOM encountered, victim process: ",
    ),
    "Preempted by (?:pod (?P<by>\\S+) on node (?P<host>\\S+)|[\\w.-]+/[\\w.-]+)|PreemptionByScheduler": (
        "Preempted by ",
        "PreemptionByScheduler",
    ),
    "TaintManagerEviction|DeletionByTaintManager|NodeNotReady .{0,100}?Node is not ready|Node is shutting down|imminent node shutdown": (
        "DeletionByTaintManager",
        "Node is not ready",
        "Node is shutting down",
        "TaintManagerEviction",
        "imminent node shutdown",
    ),
    "(?P<probe>Liveness|Startup) probe failed: ?(?P<message>.*)": (
        "Liveness probe failed:",
        "Startup probe failed:",
    ),
    "Container (?P<container>\\S+) failed (?P<probe>liveness|startup) probe, will be restarted": (
        " failed liveness probe, will be restarted",
        " failed startup probe, will be restarted",
    ),
    "FailedScheduling .{0,200}nodes are available: (?P<message>.*)": ("nodes are available: ",),
    "^Name: +(?P<pod>[a-z0-9][a-z0-9.-]*)$": ("Name: ",),
    "^Node: +(?P<host>[\\w.<>-]+)(?:/\\S+)?$": ("Node: ",),
    '^\\s*\\"?nodeName\\"?: \\"?(?P<host>[\\w.-]+)\\"?,?$': ('nodeName": ', "nodeName: "),
    "Successfully assigned (?:[\\w-]+/)?(?P<pod>[\\w.-]+) to (?P<host>[\\w.-]+)": (
        "Successfully assigned ",
    ),
    "^(?:[a-z0-9-]+ +)?(?P<pod>[a-z0-9][a-z0-9.-]*) +\\d+/\\d+ +(?:Running|Completed|Error|CrashLoopBackOff|Terminating|OOMKilled|Unknown|ContainerStatusUnknown) .{1,80} (?P<host>[a-z0-9][a-z0-9.-]*) +<none> +\\S+ *$": (
        " <none> ",
    ),
    "^\\s*Finished: +(?P<at>\\w{3}, \\d{1,2} \\w{3} \\d{4} [\\d:]{8} [+-]\\d{4})$": ("Finished: ",),
    '^\\s*\\"?finishedAt\\"?: \\"?(?P<at>\\d{4}-\\d\\d-\\d\\dT[\\d:]{8}Z)\\"?,?$': (
        'finishedAt": ',
        "finishedAt: ",
    ),
    "^(?:[a-z0-9-]+ +)?(?P<pod>[a-z0-9][a-z0-9.-]*) +\\d+/\\d+ +Evicted (?:.{1,80} (?P<host>[a-z0-9][a-z0-9.-]*) +<none> +\\S+ *$)?": (
        " Evicted ",
    ),
    "Kubelet stopped posting node status|\\bNodeLost\\b|which was running pod .{1,80} is unresponsive": (
        "Kubelet stopped posting node status",
        "NodeLost",
        "which was running pod ",
    ),
    "^(?P<host>[a-z0-9][a-z0-9.-]*) +NotReady(?:,SchedulingDisabled)? +\\S+ +\\S+ +v\\d": (
        " NotReady ",
        " NotReady,SchedulingDisabled ",
    ),
    "^\\s*(?:Taints: +)?node\\.kubernetes\\.io/(?:unreachable|not-ready):NoExecute$": (
        "node.kubernetes.io/not-ready:NoExecute",
        "node.kubernetes.io/unreachable:NoExecute",
    ),
    "DeletionByPodGC": ("DeletionByPodGC",),
    "\\bnode/(?P<host>[\\w.-]+) (?:already )?(?:cordoned|drained)": (" cordoned", " drained"),
    "evicting pod (?:[\\w-]+/)?(?P<pod>[\\w.-]+)": ("evicting pod ",),
    "Node (?P<host>[\\w.-]+) status is now: NodeNotSchedulable": (
        " status is now: NodeNotSchedulable",
    ),
    "EvictionByEvictionAPI|TerminationByKubelet": ("EvictionByEvictionAPI", "TerminationByKubelet"),
    'Node is shutting down|imminent node shutdown|[Rr]eason: +\\"?NodeShutdown': (
        ' "NodeShutdown',
        " NodeShutdown",
        "Node is shutting down",
        "imminent node shutdown",
    ),
    "^(?:[a-z0-9-]+ +)?(?P<pod>[a-z0-9][a-z0-9.-]*) +\\d+/\\d+ +(?:Init:)?(?P<reason>ImagePullBackOff|ErrImagePull|InvalidImageName|CreateContainerConfigError|CreateContainerError|RunContainerError)\\b": (
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "RunContainerError",
    ),
    "\\b(?:Error: |[Rr]eason: +)(?P<reason>ImagePullBackOff|ErrImagePull|InvalidImageName|CreateContainerConfigError|CreateContainerError|RunContainerError)\\b": (
        " CreateContainerConfigError",
        " CreateContainerError",
        " ErrImagePull",
        " ImagePullBackOff",
        " InvalidImageName",
        " RunContainerError",
    ),
    "\\b(?P<reason>FailedMount|FailedAttachVolume|FailedCreatePodSandBox) (?P<message>.*)": (
        "FailedAttachVolume ",
        "FailedCreatePodSandBox ",
        "FailedMount ",
    ),
    "UnexpectedAdmissionError.{0,200}?(?P<message>no healthy devices.*|Allocate failed.*)": (
        "UnexpectedAdmissionError",
    ),
    "Batch JobId=(?P<job>\\d+) missing from batch node (?P<host>[\\w.-]+)": (
        " missing from batch node ",
    ),
    "Node (?P<host>[\\w.-]+) unexpectedly rebooted": (" unexpectedly rebooted",),
    "Exceeded job memory limit": ("Exceeded job memory limit",),
    "FAILED \\(non-zero exit code or other failure mode\\)": (
        "FAILED (non-zero exit code or other failure mode)",
    ),
    "^Linux version (?P<release>\\d\\S*) \\(": ("Linux version ",),
    "[Tt]he system is going down for (?P<action>reboot|power-?off|halt|kexec)\\b|^System is (?P<doing>rebooting|powering down)\\b|^(?P<does>Powering off|Rebooting)\\.\\.\\.|^(?P<key>Power key pressed)": (
        "Power key pressed",
        "Powering off...",
        "Rebooting...",
        "System is powering down",
        "System is rebooting",
        "The system is going down for ",
        "the system is going down for ",
    ),
    "^reboot: (?P<action>Restarting system|Power down|System halted)": (
        "reboot: Power down",
        "reboot: Restarting system",
        "reboot: System halted",
    ),
    '"action": ?"(?P<action>terminate|stop|hibernate)", ?"time": ?"(?P<at>[\\dT:Z-]+)"': (
        '"action": "hibernate", "time":',
        '"action": "hibernate","time":',
        '"action": "stop", "time":',
        '"action": "stop","time":',
        '"action": "terminate", "time":',
        '"action": "terminate","time":',
        '"action":"hibernate", "time":',
        '"action":"hibernate","time":',
        '"action":"stop", "time":',
        '"action":"stop","time":',
        '"action":"terminate", "time":',
        '"action":"terminate","time":',
    ),
    "\\b[Ss]pot ITN\\b|[Ss]pot (?:instance )?(?:interruption|termination) notice|\\bSPOT_ITN\\b": (
        "SPOT_ITN",
        "Spot ITN",
        "Spot instance interruption notice",
        "Spot instance termination notice",
        "Spot interruption notice",
        "Spot termination notice",
        "spot ITN",
        "spot instance interruption notice",
        "spot instance termination notice",
        "spot interruption notice",
        "spot termination notice",
    ),
    "[Rr]ebalance [Rr]ecommendation": (
        "Rebalance Recommendation",
        "Rebalance recommendation",
        "rebalance Recommendation",
        "rebalance recommendation",
    ),
    "compute\\.instances\\.preempted(?: (?P<host>[a-z][\\w-]*))?": ("compute.instances.preempted",),
    '"EventType": ?"(?P<action>Preempt|Terminate|Reboot|Redeploy)"': (
        '"EventType": "Preempt"',
        '"EventType": "Reboot"',
        '"EventType": "Redeploy"',
        '"EventType": "Terminate"',
        '"EventType":"Preempt"',
        '"EventType":"Reboot"',
        '"EventType":"Redeploy"',
        '"EventType":"Terminate"',
    ),
    "\\| (?P<date>\\d\\d/\\d\\d/\\d{4}) \\| (?P<clock_time>\\d\\d:\\d\\d:\\d\\d)(?: \\w+)? \\| (?P<sensor>(?:Power Supply|Power Unit|Fan|Cooling|Processor|Temperature)[^|]*)\\| (?P<state>[^|]*(?:AC lost|Failure detected|Lower Critical|Lower Non-recoverable|Upper Critical|Upper Non-recoverable|Throttled))": (
        "AC lost",
        "Failure detected",
        "Lower Critical",
        "Lower Non-recoverable",
        "Throttled",
        "Upper Critical",
        "Upper Non-recoverable",
    ),
    "DataLoader worker \\(pid (?:(?P<worker_pid>\\d+)|[^)]{1,20})\\) is killed by signal: (?P<signal>[A-Z][\\w ]*?)(?:\\.|,|$)": (
        "DataLoader worker (pid ",
    ),
    "DataLoader worker \\(pid (?:(?P<worker_pid>\\d+)|[^)]{1,20})\\) exited unexpectedly with exit code (?P<exit_code>-?\\d+)": (
        ") exited unexpectedly with exit code ",
    ),
    "DataLoader worker \\(pid\\(s\\) (?P<worker_pids>[\\d, ]+)\\) exited unexpectedly": (
        "DataLoader worker (pid(s) ",
    ),
    "ERROR: Unexpected (?P<message>segmentation fault|floating-point exception) encountered in worker": (
        "ERROR: Unexpected floating-point exception encountered in worker",
        "ERROR: Unexpected segmentation fault encountered in worker",
    ),
    "Pin memory thread exited unexpectedly": ("Pin memory thread exited unexpectedly",),
    "This DataLoader will create (?P<workers>\\d+) worker processes in total\\. Our suggested max number of worker in current system is (?P<suggested>\\d+)": (
        "This DataLoader will create ",
    ),
    "DataLoader timed out after (?P<timeout>[\\d.]+ ?s(?:econds)?)": (
        "DataLoader timed out after ",
    ),
    "Caught (?P<type>\\w+) in (?:DataLoader worker process (?P<worker>\\d+)|pin memory thread for device (?P<device>\\d+))": (
        "DataLoader worker process ",
        "pin memory thread for device ",
    ),
    "Unexpected bus error encountered in worker|out of shared memory\\. Please try to raise": (
        "Unexpected bus error encountered in worker",
        "out of shared memory. Please try to raise",
    ),
    "unable to (?:resize|allocate shared memory)[^<]{0,40}<(?P<path>[^>]+)>.{0,80}No space left on device": (
        "No space left on device",
    ),
    "(?P<path>/dev/shm/[^\\s,:']+)[ ,:'].{0,80}No space left on device": (
        "No space left on device",
    ),
    "Call to posix_fallocate (?:failed|failed ): No space left on device": (
        "Call to posix_fallocate failed",
    ),
    "unable to open shared memory object <(?P<path>[^>]+)> in read-write mode: (?P<message>[\\w ]+) \\((?P<errno>\\d+)\\)": (
        "unable to open shared memory object <",
    ),
    "(?P<message>\\[Errno 24\\] Too many open files|Too many open files\\. Communication with the workers|received \\d+ items of ancdata|Too many open files \\(24\\))": (
        " items of ancdata",
        "Too many open files (24)",
        "Too many open files. Communication with the workers",
        "[Errno 24] Too many open files",
    ),
    "(?P<message>VFS: file-max limit \\d+ reached)": ("VFS: file-max limit ",),
    "(?P<message>can't start new thread|Thread creation failed: Resource temporarily unavailable|pthread_create failed for thread \\d+|BlockingIOError: \\[Errno 11\\])": (
        "BlockingIOError: [Errno 11]",
        "Thread creation failed: Resource temporarily unavailable",
        "can't start new thread",
        "pthread_create failed for thread ",
    ),
    "(?P<message>RLIMIT_MEMLOCK is \\d+ bytes|ibv_\\w+(?:\\([^)]{0,80}\\))? failed.{0,40}Cannot allocate memory)": (
        "Cannot allocate memory",
        "RLIMIT_MEMLOCK is ",
    ),
    "(?P<message>(?:Couldn't|Failed to|failed to|Could not) (?:create|allocate|register) [\\w ()]{2,40}: Cannot allocate memory)": (
        ": Cannot allocate memory",
    ),
    "[Mm]ax locked memory +(?:\\(kbytes, -l\\) +(?P<kilobytes>\\d+|unlimited)|(?P<value>\\d+|unlimited) +(?:\\d+|unlimited) +bytes)": (
        "Max locked memory ",
        "max locked memory ",
    ),
    "(?P<message>\\[Errno 12\\] Cannot allocate memory|DefaultCPUAllocator: can't allocate memory|std::bad_alloc'|Unable to allocate [\\d.]+ [KMGT]iB for an array)": (
        "DefaultCPUAllocator: can't allocate memory",
        "Unable to allocate ",
        "[Errno 12] Cannot allocate memory",
        "std::bad_alloc'",
    ),
    "(?P<message>unable to mmap \\d+ bytes from file|unable to mmap memory: you tried to mmap)": (
        " bytes from file",
        "memory: you tried to mmap",
    ),
    "\\[Errno (?P<errno>28|122)\\] (?P<message>No space left on device|Disk quota exceeded)(?:: ['\"](?P<path>[^'\"]+)['\"])?": (
        "[Errno 122] Disk quota exceeded",
        "[Errno 122] No space left on device",
        "[Errno 28] Disk quota exceeded",
        "[Errno 28] No space left on device",
    ),
    "\\[Errno (?P<errno>28|122)\\] (?P<message>Error .*)": (
        "[Errno 122] Error ",
        "[Errno 28] Error ",
    ),
    "IOError: .{0,200}Detail: \\[errno (?P<errno>28|122)\\] (?P<message>.*)": (
        "Detail: [errno 122] ",
        "Detail: [errno 28] ",
    ),
    "(?P<message>No space left on device|Disk quota exceeded) \\((?:os error )?(?P<errno>28|122)\\)": (
        "Disk quota exceeded (122)",
        "Disk quota exceeded (28)",
        "Disk quota exceeded (os error 122)",
        "Disk quota exceeded (os error 28)",
        "No space left on device (122)",
        "No space left on device (28)",
        "No space left on device (os error 122)",
        "No space left on device (os error 28)",
    ),
    "^(?P<program>\\S*(?:cp|tar|mv|rsync|dd|bash|tee|echo|git|sed|cat)): (?:.{0,200} )?'?(?P<path>/[^':]*)'?: (?P<message>No space left on device|Disk quota exceeded)$": (
        ": Disk quota exceeded",
        ": No space left on device",
    ),
    "\\[Errno (?P<errno>5|30|107|108|116|121)\\] (?P<message>[A-Z][\\w /-]+)(?:: ['\"](?P<path>[^'\"]+)['\"])?": (
        "[Errno 107] ",
        "[Errno 108] ",
        "[Errno 116] ",
        "[Errno 121] ",
        "[Errno 30] ",
        "[Errno 5] ",
    ),
    "\\[Errno (?P<errno>110)\\] (?P<message>Connection timed out): ['\\\"](?P<path>/[^'\\\"]+)['\\\"]": (
        "[Errno 110] Connection timed out: ",
    ),
    "^(?P<program>\\S*(?:ls|df|stat|cp|cat|tar|mv|rsync|mkdir|rm|bash|cd)): (?:.{0,200} )?'?(?P<path>/[^':]*)'?: (?P<message>Input/output error|Stale file handle|Transport endpoint is not connected|Read-only file system|Remote I/O error)$": (
        ": Input/output error",
        ": Read-only file system",
        ": Remote I/O error",
        ": Stale file handle",
        ": Transport endpoint is not connected",
    ),
    "(?P<message>Input/output error|Stale file handle|Transport endpoint is not connected|Read-only file system|Remote I/O error) \\((?:os error )?(?P<errno>5|30|107|116|121)\\)": (
        "Input/output error (",
        "Read-only file system (",
        "Remote I/O error (",
        "Stale file handle (",
        "Transport endpoint is not connected (",
    ),
    "(?:read|write)\\(\\): fd \\d+ failed with (?P<message>No space left on device|Disk quota exceeded)": (
        " failed with Disk quota exceeded",
        " failed with No space left on device",
    ),
    "(?:read|write)\\(\\): fd \\d+ failed with (?P<message>Input/output error|Stale file handle|Transport endpoint is not connected|Read-only file system|Remote I/O error|Cannot send after transport endpoint shutdown)": (
        "read(): fd ",
        "write(): fd ",
    ),
    "torch_shm_manager at .{1,200}: (?P<message>could not generate a random directory for manager socket)": (
        "could not generate a random directory for manager socket",
    ),
    "PytorchStreamWriter failed writing file (?P<record>[^:]+): (?P<message>file write failed)|unexpected pos \\d+ vs \\d+": (
        "PytorchStreamWriter failed writing file ",
        "unexpected pos ",
    ),
    "(?P<type>UnidentifiedImageError): (?P<message>cannot identify image file)(?: '(?P<path>[^']+)')?": (
        "cannot identify image file",
    ),
    "(?P<type>(?:OS|IO)Error): (?P<message>image file is truncated|[Tt]runcated File Read|broken data stream when reading image file|unrecognized data stream contents when reading image file)": (
        "IOError: Truncated File Read",
        "IOError: broken data stream when reading image file",
        "IOError: image file is truncated",
        "IOError: truncated File Read",
        "IOError: unrecognized data stream contents when reading image file",
        "OSError: Truncated File Read",
        "OSError: broken data stream when reading image file",
        "OSError: image file is truncated",
        "OSError: truncated File Read",
        "OSError: unrecognized data stream contents when reading image file",
    ),
    "(?P<type>SyntaxError): (?P<message>broken PNG file|not a (?:PNG|TIFF) file)": (
        "SyntaxError: broken PNG file",
        "SyntaxError: not a PNG file",
        "SyntaxError: not a TIFF file",
    ),
    "(?P<type>DecompressionBombError): (?P<message>Image size \\(\\d+ pixels\\) exceeds limit)": (
        "DecompressionBombError: Image size (",
    ),
    "error: \\(-215:Assertion failed\\) (?P<message>!_src\\.empty\\(\\) in function '(?:cv::)?cvtColor'|!ssize\\.empty\\(\\) in function '(?:cv::)?resize')": (
        "error: (-215:Assertion failed) ",
    ),
    "(?P<type>RuntimeError): (?P<message>Unsupported image file\\. Only)": (
        "Unsupported image file. Only",
    ),
    "(?P<type>LibsndfileError): (?P<message>Error (?:opening|in) (?:'(?P<path>[^']+)'|[^:]{1,80}): (?:File contains data in an unknown format|Format not recognised|Unspecified internal error))": (
        "LibsndfileError: Error in ",
        "LibsndfileError: Error opening ",
    ),
    "(?P<type>InvalidDataError): (?:\\[Errno \\d+\\] )?(?P<message>Invalid data found when processing input)(?:[:;] '(?P<path>[^']+)')?": (
        "Invalid data found when processing input",
    ),
    "(?P<type>DECORDError): (?P<message>.{0,160}(?:cannot find video stream|Invalid data found|Failed to (?:measure|get|decode|seek)|Unable to handle EOF))": (
        "DECORDError: ",
    ),
    "(?P<type>DataLossError)\\b.{0,60}?(?P<message>(?:corrupted|truncated) record at \\d+)": (
        "corrupted record at ",
        "truncated record at ",
    ),
    "(?P<type>tarfile\\.ReadError): (?P<message>unexpected end of data|invalid header|bad checksum|empty header)(?:.{0,20} @ (?P<path>[^\\s'\\\")]+))?": (
        "tarfile.ReadError: bad checksum",
        "tarfile.ReadError: empty header",
        "tarfile.ReadError: invalid header",
        "tarfile.ReadError: unexpected end of data",
    ),
    "(?P<type>ArrowInvalid): (?P<message>JSON parse error: .{0,160}) in row (?P<row>\\d+)": (
        "ArrowInvalid: JSON parse error: ",
    ),
    "Caught (?P<type>(?:\\w+\\.)*(?:UnidentifiedImageError|DecompressionBombError|JSONDecodeError|UnicodeDecodeError|ReadError|BadGzipFile|BadZipFile|LZMAError|DataLossError|LibsndfileError|DECORDError|InvalidDataError|ArrowInvalid)) in DataLoader worker process (?P<worker>\\d+)": (
        "ArrowInvalid in DataLoader worker process ",
        "BadGzipFile in DataLoader worker process ",
        "BadZipFile in DataLoader worker process ",
        "DECORDError in DataLoader worker process ",
        "DataLossError in DataLoader worker process ",
        "DecompressionBombError in DataLoader worker process ",
        "InvalidDataError in DataLoader worker process ",
        "JSONDecodeError in DataLoader worker process ",
        "LZMAError in DataLoader worker process ",
        "LibsndfileError in DataLoader worker process ",
        "ReadError in DataLoader worker process ",
        "UnicodeDecodeError in DataLoader worker process ",
        "UnidentifiedImageError in DataLoader worker process ",
    ),
    "\\b[Ss]kip(?:ping|ped)(?: over)?(?: (?P<count>\\d+))?(?: an?| the)? (?:corrupt(?:ed)?|bad|broken|invalid|unreadable|malformed|damaged) (?:samples?|images?|records?|files?|examples?|lines?|rows?|videos?|clips?|shards?)\\b": (
        "Skipped",
        "Skipping",
        "skipped",
        "skipping",
    ),
    "using world size: (?P<value>\\d+)": ("using world size: ",),
    "using world size: .*\\bdata-parallel-size: (?P<value>\\d+)": ("data-parallel-size: ",),
    "using world size: .*\\bcontext-parallel-size: (?P<value>\\d+)": ("context-parallel-size: ",),
    "using world size: .*\\btensor-model-parallel size: (?P<value>\\d+)": (
        "tensor-model-parallel size: ",
    ),
    "using world size: .*\\bpipeline-model-parallel size: (?P<value>\\d+)": (
        "pipeline-model-parallel size: ",
    ),
    "zero_config \\.+ \\D{0,8}\\bstage=(?:ZeroStageEnum\\.\\w+: )?(?P<value>\\d)": (
        "zero_config .",
    ),
    "\\btrain_micro_batch_size_per_gpu +(?P<value>\\d+)": ("train_micro_batch_size_per_gpu ",),
    "Total train batch size \\(w\\. parallel, distributed & accumulation\\) = (?P<value>[\\d,]+)": (
        "Total train batch size (w. parallel, distributed & accumulation) = ",
    ),
    "Gradient Accumulation steps = (?P<value>[\\d,]+)": ("Gradient Accumulation steps = ",),
    "Instantaneous batch size per device = (?P<value>[\\d,]+)": (
        "Instantaneous batch size per device = ",
    ),
    "Total optimization steps = (?P<value>[\\d,]+)": ("Total optimization steps = ",),
    "\\bNum examples = (?P<value>[\\d,]+)": ("Num examples = ",),
    "\\bNum Epochs = (?P<value>[\\d,]+)": ("Num Epochs = ",),
    "using world size: .*model-parallel size": ("model-parallel size",),
    "iteration +\\d+/ *\\d+ \\| consumed samples:": (" | consumed samples:",),
    "DeepSpeed info: version=": ("DeepSpeed info: version=",),
    "^Training starts at step \\d+": ("Training starts at step ",),
    "\\*\\*\\*\\*\\* Running training \\*\\*\\*\\*\\*": ("***** Running training *****",),
    "GPU available: \\w+ .*used: ": ("GPU available: ",),
    "DeepSpeed info: version=(?P<value>[^\\s,]+)": ("DeepSpeed info: version=",),
    "Running pytorch (?P<value>\\d\\S*)": ("Running pytorch ",),
    "Running pytorch \\S+ compiled for CUDA (?P<value>\\d\\S*)": (" compiled for CUDA ",),
    "\\btorch version \\.{4,} (?P<value>\\d\\S*)": ("torch version ....",),
    "\\btorch cuda version \\.{4,} (?P<value>\\d\\S*)": ("torch cuda version ....",),
    "(?:[Oo]verflow|OVERFLOW)(?:!| detected\\.)(?: Rank (?:-1|(?P<rank>\\d+)))? Skipping step\\. Attempted loss scale: (?P<scale>[\\d.]+(?:[eE][+-]?\\d+)?)(?:, (?:reducing to (?P<new_scale>[\\d.]+(?:[eE][+-]?\\d+)?)|but hysteresis is (?P<hysteresis>\\d+)))?": (
        " Skipping step. Attempted loss scale: ",
    ),
    "Reducing dynamic loss scale from (?P<scale>[\\d.]+(?:[eE][+-]?\\d+)?) to (?P<new_scale>[\\d.]+(?:[eE][+-]?\\d+)?)": (
        "Reducing dynamic loss scale from ",
    ),
    "Current loss scale already at minimum": ("Current loss scale already at minimum",),
    "Gradient overflow\\. +Skipping step, loss scaler \\d+ reducing loss scale to (?P<new_scale>[\\d.]+(?:[eE][+-]?\\d+)?)": (
        " reducing loss scale to ",
    ),
    "gradient overflow detected, ignoring gradient, setting loss scale to: (?P<new_scale>[\\d.]+(?:[eE][+-]?\\d+)?)": (
        "gradient overflow detected, ignoring gradient, setting loss scale to: ",
    ),
    "AMP: overflow detected, setting scale to:? (?P<new_scale>[\\d.]+(?:[eE][+-]?\\d+)?)": (
        "AMP: overflow detected, setting scale to",
    ),
    "Minimum loss scale reached \\((?P<scale>[\\d.]+(?:[eE][+-]?\\d+)?)\\)": (
        "Minimum loss scale reached (",
    ),
    "step:\\[ *(?P<step>\\d+)/.*overflow cond: True, loss_scale: (?P<scale>[\\d.]+(?:[eE][+-]?\\d+)?)": (
        "overflow cond: True, loss_scale: ",
    ),
    "\\b[Ll]oss is (?P<value>-?(?:nan|inf|NaN|Inf)), stopping training": (
        "Loss is -Inf, stopping training",
        "Loss is -NaN, stopping training",
        "Loss is -inf, stopping training",
        "Loss is -nan, stopping training",
        "Loss is Inf, stopping training",
        "Loss is NaN, stopping training",
        "Loss is inf, stopping training",
        "Loss is nan, stopping training",
        "loss is -Inf, stopping training",
        "loss is -NaN, stopping training",
        "loss is -inf, stopping training",
        "loss is -nan, stopping training",
        "loss is Inf, stopping training",
        "loss is NaN, stopping training",
        "loss is inf, stopping training",
        "loss is nan, stopping training",
    ),
    "Loss became infinite or NaN at iteration=(?P<step>\\d+)": (
        "Loss became infinite or NaN at iteration=",
    ),
    "(?:Rank (?P<rank>\\d+), node (?P<host>\\S+), device (?P<device>\\S+), iteration (?P<step>\\d+): .*)?found (?P<value>NaN|Inf) in local forward loss": (
        "found Inf in local forward loss",
        "found NaN in local forward loss",
    ),
    "(?:Rank (?P<rank>\\d+), node (?P<host>\\S+), device (?P<device>\\S+), iteration (?P<step>\\d+): .*)?found (?P<value>NaN|Inf) in local grad norm": (
        "found Inf in local grad norm",
        "found NaN in local grad norm",
    ),
    "(?:NaN|nan|Non-finite|non-finite|Inf|inf) (?:or (?:Inf|inf|NaN) )?loss (?:detected|encountered|at step (?P<step>\\d+))": (
        "Inf loss ",
        "NaN loss ",
        "Non-finite loss ",
        "inf loss ",
        "nan loss ",
        "non-finite loss ",
    ),
    "(?:(?:\\b\\w*(?:Error|Exception|Exit): |\\b(?:ERROR|CRITICAL|FATAL|WARNING)\\b[\\s:\\]|>-]{1,6})|^)(?:The |the )?(?:[Tt]rain(?:ing)? |[Tt]otal |[Bb]atch )?[Ll]oss(?: value)? (?:is|was|has become|became|becomes|turned|went|=|==)(?: now| to| into)? (?P<value>(?:[Nn]a[Nn]|NAN|[Ii]nf(?:inite|inity)?|[Nn]on-?finite|not finite))\\b(?:[.!;:(]|$| at (?:step|epoch|batch)| in | -> )": (
        "Loss ",
        "loss ",
    ),
    "(?:\\b\\w*(?:Error|Exception|Exit): |\\b(?:ERROR|CRITICAL|FATAL|WARNING)\\b[\\s:\\]|>-]{1,6})(?:Found |Got |Detected |Encountered )?(?P<value>(?:[Nn]a[Nn]|NAN|[Ii]nf(?:inite|inity)?|[Nn]on-?finite|not finite))s?(?: (?:or|/) ?(?:[Nn]a[Nn]|NAN|[Ii]nf(?:inite|inity)?|[Nn]on-?finite|not finite))?(?: values?)?(?: (?:was|were))?(?: found| detected| encountered)? in (?:the )?(?:\\w+ )?loss\\b": (
        "loss",
    ),
    "Model diverged with loss = (?P<value>NaN)|NaN loss during training|The loss returned in `training_step` is (?P<other>nan|inf)": (
        "Model diverged with loss = NaN",
        "NaN loss during training",
        "The loss returned in `training_step` is ",
    ),
    "Batch (?P<step>\\d+): Invalid loss, terminating training": (
        ": Invalid loss, terminating training",
    ),
    "Function '(?P<function>\\w+)' returned nan values in its \\d+th output": (
        "' returned nan values in its ",
    ),
    "\\[exiting program after (?P<minutes>[\\d.]+) minutes\\]": ("[exiting program after ",),
    "\\[exiting program at iteration +(?P<step>\\d+)\\]": ("[exiting program at iteration ",),
    "\\[exiting program after receiving (?P<signal>SIG\\w+)": (
        "[exiting program after receiving SIG",
    ),
    "\\[after training is done\\] datetime": ("[after training is done] datetime",),
    "Training completed\\. Do not forget to share your model": (
        "Training completed. Do not forget to share your model",
    ),
    "'train_runtime': '?(?P<seconds>[\\d.]+)": ("'train_runtime': ",),
    "Trainer\\.fit` stopped: `(?P<limit>max_\\w+=\\d+)` reached": ("Trainer.fit` stopped: `max_",),
    "^(?:\\w+: )?[Tt]raining (?:is )?(?:completed|complete|finished|done)(?: successfully)?(?:[,.]? (?:in|after|total time|time|took)[: ]+\\d[\\w:. ]{0,30})?[.!]?$": (
        "Training ",
        "training ",
    ),
    "Total training time: (?P<duration>\\d[\\d:]*) \\([\\d:]+ on hooks\\)": (
        "Total training time: ",
    ),
    "There seems not to be a single sample in your epoch_iterator, stopping training at step (?P<step>\\d+)": (
        "There seems not to be a single sample in your epoch_iterator, stopping training at step ",
    ),
    "(?:\\[?\\b[Rr]ank[=: ]?(?P<rank>\\d{1,6})\\]?[:,]? *)?(?P<what>[A-Za-z][\\w/. ()-]{3,100}?)[ _](?:done|finished|completed|ended) (?:after|in) (?P<elapsed>\\d{3,6}(?:\\.\\d+)? ?s(?:ec(?:ond)?s?)?)\\b": (
        "completed",
        "done",
        "ended",
        "finished",
    ),
    "(?:\\[?\\b[Rr]ank[=: ]?(?P<rank>\\d{1,6})\\]?[:,]? *)?(?P<what>[A-Za-z][\\w/. ()-]{3,100}?) took (?P<elapsed>\\d{3,6}(?:\\.\\d+)? ?s(?:ec(?:ond)?s?)?)\\b": (
        " took ",
    ),
    "saving checkpoint at iteration +(?P<step>\\d+) to (?P<path>[^\\s\\[\\]'\\\"]+)(?: in (?P<format>\\w+) format)?": (
        "saving checkpoint at iteration ",
    ),
    "successfully saved checkpoint (?:from|at) iteration +(?P<step>\\d+) to (?P<path>[^\\s\\[\\]'\\\"]+)": (
        "successfully saved checkpoint ",
    ),
    "scheduled an async checkpoint save at iteration +(?P<step>\\d+) to (?P<path>[^\\s\\[\\]'\\\"]+)": (
        "scheduled an async checkpoint save at iteration ",
    ),
    "Starting a checkpoint save before previous has finished": (
        "Starting a checkpoint save before previous has finished",
    ),
    'encountered exception "(?P<message>[^"]*)" when trying to delete checkpoint': (
        '" when trying to delete checkpoint',
    ),
    "\\[Torch\\] Checkpoint (?P<tag>\\S+) is about to be saved!": (" is about to be saved!",),
    "Saving model checkpoint: (?P<path>[^\\s\\[\\]'\\\"]+)": ("Saving model checkpoint: ",),
    "\\[Torch\\] Checkpoint (?P<tag>\\S+) is ready now!": ("[Torch] Checkpoint ",),
    "\\[rank=(?P<rank>\\d+)\\] The checkpoint tag name '(?P<tag>[^']*)' is not consistent across all ranks": (
        "] The checkpoint tag name '",
    ),
    "Saving model checkpoint to (?P<path>[^\\s\\[\\]'\\\"]+)": ("Saving model checkpoint to ",),
    "Saving current state to (?P<path>[^\\s\\[\\]'\\\"]+)": ("Saving current state to ",),
    "(?P<part>Saving|Staging) the checkpoint\\b": (
        "Saving the checkpoint",
        "Staging the checkpoint",
    ),
    "Finished (?P<part>saving|staging) the checkpoint(?: \\([^)]*\\))? ?in (?P<lasted>[\\d.]+) seconds": (
        "Finished saving the checkpoint",
        "Finished staging the checkpoint",
    ),
    "Checkpoint save for step (?P<step>\\d+) started at": ("Checkpoint save for step ",),
    "Async checkpoint save for step (?P<step>\\d+) \\((?P<path>[^)]*)\\) finalized successfully": (
        "Async checkpoint save for step ",
    ),
    "Epoch \\d+, global step (?P<step>\\d+): .* saving model to '(?P<path>[^']*)'": (
        " saving model to '",
    ),
    "Started save checkpoint @ (?P<path>\\S+?)\\.?(?:$|\\s)": ("Started save checkpoint @ ",),
    "Finished blocking save in (?P<lasted>[\\d.]+) seconds\\. Continuing save @ (?P<path>\\S+)": (
        "Finished blocking save in ",
    ),
    "Finished save \\(blocking \\+ background\\) in (?P<lasted>[\\d.]+) seconds @ (?P<path>\\S+)": (
        "Finished save (blocking + background) in ",
    ),
    "Scheduled async checkpoint save for (?P<path>[^\\s\\[\\]'\\\"]+)": (
        "Scheduled async checkpoint save for ",
    ),
    "\\bSaving (?:(?:the )?(?:latest|last|best|final|current|new|full|intermediate|periodic|training|sharded|distributed|epoch) (?:model |training )?)?(?:checkpoint|ckpt|snapshot)(?:\\.{3}|:|\\s*$| (?:to|at|for|model|as|step|epoch|iteration|after) )": (
        "Saving ",
    ),
    "[Ss]av(?:ed|ing) (?:the |model )?checkpoint\\b(?: to (?P<path>/[^\\s,:]+))?(?: [^\\s]{1,40}){0,8}? (?:in|took) (?P<lasted>[\\d.]+) ?(?:seconds|secs|sec|s)\\b": (
        "Saved checkpoint",
        "Saved model checkpoint",
        "Saved the checkpoint",
        "Saving checkpoint",
        "Saving model checkpoint",
        "Saving the checkpoint",
        "saved checkpoint",
        "saved model checkpoint",
        "saved the checkpoint",
        "saving checkpoint",
        "saving model checkpoint",
        "saving the checkpoint",
    ),
    "(?:(?P<part>[Aa]sync) )?[Cc]heckpoint (?:save|saved|saving)\\b[^\\r\\n]{0,60}?(?: in | took |: )(?P<lasted>[\\d.]+) ?(?:seconds|secs|sec|s)\\b": (
        "Checkpoint save",
        "Checkpoint saving",
        "checkpoint save",
        "checkpoint saving",
    ),
    "\\bloading (?:distributed |release )?checkpoint from (?P<path>[^\\s\\[\\]'\\\"]+)(?: at iteration (?P<step>\\d+))?": (
        "loading checkpoint from ",
        "loading distributed checkpoint from ",
        "loading release checkpoint from ",
    ),
    "successfully loaded checkpoint from (?P<path>[^\\s\\[\\]'\\\"]+)(?: \\[[^\\]]*\\])? at iteration (?P<step>\\d+)": (
        "successfully loaded checkpoint from ",
    ),
    "could not find the metadata file (?P<path>\\S+)": ("could not find the metadata file ",),
    "(?:'--exit-on-missing-checkpoint' is set but no|exit-on-missing-checkpoint.* no) checkpoint was found": (
        "exit-on-missing-checkpoint",
    ),
    "on rank (?P<rank>\\d+) found iteration (?P<step>\\d+) in the metadata while max iteration across the ranks is (?P<newest>\\d+)": (
        " in the metadata while max iteration across the ranks is ",
    ),
    "Invalid metadata file (?P<path>\\S+?)\\. Exiting": ("Invalid metadata file ",),
    "Unable to load (?P<what>optimizer|rng state) from checkpoint (?P<path>\\S+?)\\.(?:\\s|$)": (
        "Unable to load optimizer from checkpoint ",
        "Unable to load rng state from checkpoint ",
    ),
    "RNG state (?:not found for current TP/PP rank|will be ignored)": (
        "RNG state not found for current TP/PP rank",
        "RNG state will be ignored",
    ),
    "(?P<argument>\\w+) value from checkpoint \\((?P<saved>[^)]*)\\) is not equal to the input argument value \\((?P<current>[^)]*)\\)": (
        ") is not equal to the input argument value (",
    ),
    "OptimizerParamScheduler: class input value (?P<current>\\S+) and checkpoint ?value (?P<saved>\\S+) for (?P<argument>.+?) do not match": (
        "OptimizerParamScheduler: class input value ",
    ),
    "Common file (?P<path>\\S+) does not exist": (" does not exist",),
    "Unable to find latest file at (?P<path>[^\\s,]+)": ("Unable to find latest file at ",),
    "(?P<message>Can't find a valid checkpoint at (?P<path>[^\\s,'\\\"{}]+))": (
        "Can't find a valid checkpoint at ",
    ),
    "(?P<message>Error no file named .{1,200}?) found in directory (?P<path>[^\\s,'\\\"]*[^\\s,'\\\".])": (
        "Error no file named ",
    ),
    "(?P<path>[^\\s,'\\\"]+) (?P<message>does not appear to have a file named (?:pytorch_model|model|tf_model|flax_model|adapter_model)\\S*?)\\. ": (
        "does not appear to have a file named ",
    ),
    "(?P<message>Cannot find any model weights with) `(?P<path>[^`]+)`": (
        "Cannot find any model weights with `",
    ),
    "(?P<message>Unable to load weights from pytorch checkpoint file) for '[^']*' at '(?P<path>[^']+)'": (
        "Unable to load weights from pytorch checkpoint file for '",
    ),
    "(?P<message>You seem to have cloned a repository without having git-lfs installed)": (
        "You seem to have cloned a repository without having git-lfs installed",
    ),
    "(?P<message>No valid checkpoint found in output directory) \\((?P<path>[^)]*)\\)": (
        "No valid checkpoint found in output directory (",
    ),
    "checkpoint being loaded used a DP world size of (?P<saved>\\d+) but the current world size is (?P<current>\\d+)": (
        "checkpoint being loaded used a DP world size of ",
    ),
    "loading (?P<found>\\d+) zero partition checkpoints for rank (?P<rank>\\d+)": (
        " zero partition checkpoints for rank ",
    ),
    "Expected (?P<expected>\\d+) of '(?P<pattern>[^']+)' under '(?P<path>[^']+)' but found (?P<found>\\d+) files": (
        "' but found ",
    ),
    "\\bLoading model from (?P<path>\\S+?)\\.?(?:$|\\s)": ("Loading model from ",),
    "There were (?P<kind>missing|unexpected) keys in the checkpoint model loaded: (?P<message>\\[[^\\]]*\\]?)": (
        "There were missing keys in the checkpoint model loaded: [",
        "There were unexpected keys in the checkpoint model loaded: [",
    ),
    "Didn't find an RNG file(?: for process (?P<process>\\d+))?, ": ("Didn't find an RNG file",),
    "Could not load random states": ("Could not load random states",),
    "(?:Resuming training from checkpoint with epoch \\d+ and|Continuing training from) global step (?P<step>\\d+)": (
        "Continuing training from",
        "Resuming training from checkpoint with epoch ",
    ),
    "(?:Fast-forwarding the dataloader past|Will skip the first) (?P<epochs>\\d+) epochs (?:and|then the first) (?P<batches>\\d+) batches": (
        "Fast-forwarding the dataloader past ",
        "Will skip the first ",
    ),
    "Restoring states from the checkpoint path at (?P<path>\\S+)": (
        "Restoring states from the checkpoint path at ",
    ),
    "Restored all states from the checkpoint at (?P<path>\\S+)": (
        "Restored all states from the checkpoint at ",
    ),
    "Loading the checkpoint (?:at step (?P<step>\\d+)|from (?P<path>\\S+?))\\.?(?:$|\\s)": (
        "Loading the checkpoint at step ",
        "Loading the checkpoint from ",
    ),
    "Finished loading the checkpoint in (?P<lasted>[\\d.]+) seconds": (
        "Finished loading the checkpoint in ",
    ),
    "No checkpoint was provided, this is a fresh start": (
        "No checkpoint was provided, this is a fresh start",
    ),
    "Checkpoint (?:tracker file )?does not exist: (?:%s )?(?P<path>\\S+)": (
        "Checkpoint does not exist: ",
        "Checkpoint tracker file does not exist: ",
    ),
    "\\[deepspeed\\] No checkpoint found at (?P<path>[^\\s,]+), skipping checkpoint loading": (
        "[deepspeed] No checkpoint found at ",
    ),
    "\\b[Rr]es(?:umed|uming|tored|toring|tarted|tarting)(?: training| run| model| state)? from (?:the )?(?:last |latest |saved )?(?:checkpoint|ckpt|snapshot)\\b(?:: ?| )?(?P<path>/[^\\s,()]+)?(?:[ ,(]{1,3}(?:at |from )?(?:global[ _])?(?:step|iteration)[ =:]{0,3}(?P<step>\\d+))?": (
        "checkpoint",
        "ckpt",
        "snapshot",
    ),
    "PytorchStreamReader failed (?P<message>(?:reading zip archive|reading file|locating file)[^(]*)": (
        "PytorchStreamReader failed ",
    ),
    "(?P<message>unexpected EOF, expected (?P<short>\\d+) more bytes)\\. The file might be corrupted": (
        "unexpected EOF, expected ",
    ),
    "(?P<message>UnpicklingError: invalid load key, ['\"][^'\"]*['\"])": (
        "UnpicklingError: invalid load key, ",
    ),
    "(?P<message>EOFError: Ran out of input)": ("EOFError: Ran out of input",),
    "(?P<message>filename 'storages' not found)": ("filename 'storages' not found",),
    "(?P<message>Weights only load failed)": ("Weights only load failed",),
    "(?P<message>Attempting to deserialize object on (?:a )?CUDA device)": (
        "Attempting to deserialize object on ",
    ),
    "Error while deserializing header: (?P<message>.+)": ("Error while deserializing header: ",),
    "(?P<message>PytorchStreamWriter failed writing (?:file|central directory)[^\\n]*)": (
        "PytorchStreamWriter failed writing ",
    ),
    "enforce fail at inline_container\\.cc:\\d+\\] \\. (?P<message>unexpected pos \\d+ vs \\d+)": (
        "enforce fail at inline_container.cc:",
    ),
    "(?P<message>(?:Directory not empty|No such file or directory|File exists): '[^']*' -> '(?P<path>[^']*)')": (
        "Directory not empty: '",
        "File exists: '",
        "No such file or directory: '",
    ),
    "(?P<message>Directory not empty): '(?P<path>[^'\\\"]*(?:checkpoint|ckpt|global_step|iter_\\d{7}|\\.distcp|\\.metadata|\\.safetensors|_states\\.pt|pytorch_model|\\.pth|rng_state|trainer_state)[^'\\\"]*)'$": (
        "Directory not empty: '",
    ),
    "(?P<message>No such file or directory): '(?P<path>(?:rng_state(?:_\\d+)?\\.pth|trainer_state\\.json|training_args\\.bin|(?:optimizer|scheduler)\\.pt|\\w*zero_pp_rank_\\w+_states\\.pt|mp_rank_\\w+_states\\.pt|__\\d+_\\d+\\.distcp|global_step\\d+|[\\w.-]+-\\d{5}-of-\\d{5}\\.(?:bin|safetensors)))'$": (
        "No such file or directory: '",
    ),
    "(?P<message>No such file or directory): ['\\\"](?P<path>[^'\\\"]*(?:checkpoint|ckpt|global_step|iter_\\d{7}|\\.distcp|\\.metadata|\\.safetensors|_states\\.pt|pytorch_model|\\.pth|rng_state|trainer_state)[^'\\\"]*)['\\\"]$": (
        "No such file or directory: ",
    ),
    "[Ss]afetensor.{0,120}(?P<message>No such file or directory \\(os error 2\\))": (
        "No such file or directory (os error 2)",
    ),
    "(?P<message>metadata is None; global metadata read failed)": (
        "metadata is None; global metadata read failed",
    ),
    "CheckpointException ranks:dict_keys\\((?P<ranks>\\[[\\d, ]*\\])\\)": (
        "CheckpointException ranks:dict_keys([",
    ),
    "Traceback \\(most recent call last\\): \\(RANK (?P<rank>\\d+)\\)": (
        "Traceback (most recent call last): (RANK ",
    ),
    "Missing key in checkpoint state_dict: (?P<key>\\S+?)\\.?(?:$|\\s)": (
        "Missing key in checkpoint state_dict: ",
    ),
    "Size mismatch between saved (?P<saved>[^:]+) and current: (?P<current>.+?) for (?P<key>\\S+)": (
        "Size mismatch between saved ",
    ),
    "(?P<message>Failed to validate global plan|invalid fill tensor-volume: \\d+ chunks-volume: \\d+)": (
        "Failed to validate global plan",
        "invalid fill tensor-volume: ",
    ),
    "(?P<message>A CPU backend must be enabled for async save)": (
        "A CPU backend must be enabled for async save",
    ),
    "Error\\(s\\) in loading state_dict for (?P<model>\\w+)": (
        "Error(s) in loading state_dict for ",
    ),
    '(?P<kind>Missing|Unexpected) key\\(s\\) in state_dict: "?(?P<key>[^",]+)': (
        "Missing key(s) in state_dict: ",
        "Unexpected key(s) in state_dict: ",
    ),
    "size mismatch for (?P<key>\\S+): copying a param with shape (?P<saved>torch\\.Size\\([^)]*\\)) from checkpoint, the shape in current model is (?P<current>torch\\.Size\\([^)]*\\))": (
        ": copying a param with shape torch.Size(",
    ),
    "(?P<message>loaded state dict (?:contains a parameter group that doesn't match the size|has a different number of parameter groups))": (
        "loaded state dict contains a parameter group that doesn't match the size",
        "loaded state dict has a different number of parameter groups",
    ),
    "(?:vllm\\.entrypoints\\.\\w|\\bvllm serve \\S|[/\\\\]vllm[/\\\\](?:engine|v1|worker|entrypoints|executor)[/\\\\])": (
        "/vllm/",
        "/vllm\\",
        "\\vllm/",
        "\\vllm\\",
        "vllm serve ",
        "vllm.entrypoints.",
    ),
    "Available KV cache memory: (?P<available>-?[\\d.]+) GiB": ("Available KV cache memory: ",),
    "model weights take (?P<weights>[\\d.]+)GiB; non_torch_memory takes (?P<non_torch>-?[\\d.]+)GiB; PyTorch activation peak memory takes (?P<activations>[\\d.]+)GiB; the rest of the memory reserved for KV Cache is (?P<available>-?[\\d.]+)GiB": (
        "GiB; the rest of the memory reserved for KV Cache is ",
    ),
    "# (?:GPU|cuda) blocks: (?P<blocks>\\d+), # CPU blocks: (?P<host_blocks>\\d+)": (
        ", # CPU blocks: ",
    ),
    "GPU KV cache size: (?P<tokens>[\\d,]+) tokens": ("GPU KV cache size: ",),
    "Maximum concurrency for (?P<length>[\\d,]+) tokens per request: (?P<factor>[\\d.]+)x": (
        "Maximum concurrency for ",
    ),
    "gpu[-_]memory[-_]utilization(?:'?[\\\"]?: ?|=| +|\\)? ?\\()(?P<value>0?\\.\\d+|1\\.0)": (
        "gpu-memory-utilization",
        "gpu-memory_utilization",
        "gpu_memory-utilization",
        "gpu_memory_utilization",
    ),
    "init engine \\(profile, create kv cache, warmup model\\) took (?P<seconds>[\\d.]+) s": (
        "init engine (profile, create kv cache, warmup model) took ",
    ),
    "Graph capturing finished in (?P<seconds>[\\d.]+) secs?(?:, took (?P<memory>-?[\\d.]+) GiB)?": (
        "Graph capturing finished in ",
    ),
    "CUDA graphs can take additional 1~3 GiB|Capturing (?:the model for CUDA graphs|CUDA graphs \\()|Capture cuda graph begin": (
        "CUDA graphs can take additional 1~3 GiB",
        "Capture cuda graph begin",
        "Capturing CUDA graphs (",
        "Capturing the model for CUDA graphs",
    ),
    "torch\\.compile takes (?P<seconds>[\\d.]+) s|Compiling a graph for (?P<what>.{1,60}?) takes (?P<graph_seconds>[\\d.]+) s": (
        "Compiling a graph for ",
        "torch.compile takes ",
    ),
    "params: SamplingParams\\((?P<params>.{0,900})": ("params: SamplingParams(",),
    "No available memory for the cache blocks\\.(?: ?Try increasing|\\s*$)": (
        "No available memory for the cache blocks.",
    ),
    "max (?:seq len|model len|sequence length) \\((?P<wanted>\\d+)\\) is larger than the maximum number of tokens that can be stored in (?:the )?KV cache \\((?P<tokens>\\d+)\\)": (
        ") is larger than the maximum number of tokens that can be stored in ",
    ),
    "max seq len \\((?P<wanted>\\d+)\\), \\(?(?P<needed>[\\d.]+) ?GiB (?:of )?KV cache is needed, which is larger than the available KV cache memory \\((?P<available>-?[\\d.]+) ?GiB\\)(?:.{0,120}?estimated maximum model length is (?P<tokens>\\d+))?": (
        "GiB KV cache is needed, which is larger than the available KV cache memory (",
        "GiB of KV cache is needed, which is larger than the available KV cache memory (",
    ),
    "User-specified max_model_len \\((?P<wanted>\\d+)\\) is greater than the derived max_model_len \\((?:\\w+=)?(?P<tokens>\\d+)": (
        "User-specified max_model_len (",
    ),
    "max_num_batched_tokens \\((?P<tokens>\\d+)\\) (?:is|must be) (?:smaller than|greater than or equal to) max_(?P<limit>model_len|num_seqs) \\((?P<wanted>\\d+)\\)": (
        "max_num_batched_tokens (",
    ),
    "Free memory on device(?: \\S+)? \\((?P<free>[\\d.]+)/(?P<total>[\\d.]+) GiB\\) on startup is less than desired GPU memory utilization \\((?P<utilization>[\\d.]+), (?P<wanted>[\\d.]+) GiB\\)": (
        " GiB) on startup is less than desired GPU memory utilization (",
    ),
    "Error in memory profiling\\. Initial free memory (?P<before>[\\d.]+)[^,]{0,8}, current free memory (?P<after>[\\d.]+)": (
        "Error in memory profiling. Initial free memory ",
    ),
    "CUDA out of memory occurred when warming up sampler with (?P<sequences>\\d+) dummy requests": (
        "CUDA out of memory occurred when warming up sampler with ",
    ),
    "[/\\\\](?:vllm|sglang)[/\\\\]\\S{1,160}, line \\d+, in (?P<function>profile_run|_dummy_run|profile_num_available_blocks|determine_num_available_blocks|determine_available_memory|profile_max_num_token)\\b": (
        ", in _dummy_run",
        ", in determine_available_memory",
        ", in determine_num_available_blocks",
        ", in profile_max_num_token",
        ", in profile_num_available_blocks",
        ", in profile_run",
    ),
    "[/\\\\](?:vllm|sglang)[/\\\\]\\S{1,160}, line \\d+, in (?P<function>capture_model|_capture_cudagraphs|capture_one_batch_size|init_device_graphs|init_cuda_graphs|capture)\\b": (
        ", in _capture_cudagraphs",
        ", in capture",
        ", in init_cuda_graphs",
        ", in init_device_graphs",
    ),
    "with torch\\.cuda\\.(?P<function>graph)\\((?:cudagraph,|self\\._graph,|\\s*cudagraph\\b)": (
        "with torch.cuda.graph(",
    ),
    "[/\\\\](?:vllm|sglang)[/\\\\]\\S{1,160}, line \\d+, in (?P<function>load_model|load_weights|create_weights)\\b": (
        ", in create_weights",
        ", in load_model",
        ", in load_weights",
    ),
    "EngineDeadError(?::|\\()|EngineCore encountered an issue\\. See stack trace": (
        "EngineCore encountered an issue. See stack trace",
        "EngineDeadError(",
        "EngineDeadError:",
    ),
    "EngineCore (?:hit an exception|encountered a fatal error|died unexpectedly)|Engine core proc \\S+ died unexpectedly": (
        " died unexpectedly",
        "Core encountered a fatal error",
        "Core hit an exception",
    ),
    "EngineCore failed to start|Engine core initialization failed|Engine process failed to start": (
        "Engine core initialization failed",
        "Engine process failed to start",
        "EngineCore failed to start",
    ),
    "AsyncEngineDeadError|Background loop (?:has errored already|is stopped)|Engine loop is not running|MQEngineDeadError|Engine loop has died": (
        "AsyncEngineDeadError",
        "Background loop has errored already",
        "Background loop is stopped",
        "Engine loop has died",
        "Engine loop is not running",
        "MQEngineDeadError",
    ),
    "(?:Worker proc (?P<worker>[\\w-]+)|RayWorkerProc rank=\\[(?P<ranks>[\\d, ]+)\\]) died unexpectedly": (
        " died unexpectedly",
    ),
    "RPC call to (?P<call>\\w+) timed out": ("RPC call to ",),
    "No available (?:shared memory broadcast )?block found ?in (?P<seconds>\\d+) seconds?": (
        "No available block found",
        "No available shared memory broadcast block found",
    ),
    "is preempted by PreemptionMode\\.(?P<mode>\\w+) mode(?:.{0,300}?total_(?:num_cumulative_preemption|cumulative_preemption_cnt)=(?P<total>\\d+))?": (
        "is preempted by PreemptionMode.",
    ),
    "(?:Input prompt|The prompt|prompt) \\((?P<tokens>\\d+) tokens\\) (?:is too long and exceeds|\\+ lookahead slots .{0,40}?is too long and exceeds) (?:the )?(?:limit|capacity) of (?P<limit>\\d+|block_manager)": (
        "is too long and exceeds ",
    ),
    "maximum context length is (?P<limit>\\d+) tokens\\. However, (?:you requested|your request has) (?P<tokens>\\d+)": (
        "maximum context length is ",
    ),
    "sglang\\.launch_server|sglang serve |server_args=ServerArgs\\(|[/\\\\]sglang[/\\\\]srt[/\\\\]": (
        "/sglang/srt",
        "/sglang\\srt",
        "\\sglang/srt",
        "\\sglang\\srt",
        "server_args=ServerArgs(",
        "sglang serve ",
        "sglang.launch_server",
    ),
    "mem[-_]fraction[-_]static(?:=| +|'?: ?)(?P<value>0?\\.\\d+|1\\.0)": (
        "mem-fraction-static",
        "mem-fraction_static",
        "mem_fraction-static",
        "mem_fraction_static",
    ),
    "KV Cache is allocated\\. (?:dtype: \\S+ )?#tokens: (?P<tokens>\\d+), K size: (?P<keys>[\\d.]+) GB, V size: (?P<values>[\\d.]+) GB": (
        "KV Cache is allocated. ",
    ),
    "max_total_num_tokens=(?P<tokens>\\d+), .{0,200}?available_gpu_mem=(?P<available>-?[\\d.]+) GB": (
        "max_total_num_tokens=",
    ),
    "Not enough memory\\. Please try to increase --mem-fraction-static\\.(?: Current value: \\(?[\\w=. ]*?(?P<utilization>0?\\.\\d+))?": (
        "Not enough memory. Please try to increase --mem-fraction-static.",
    ),
    "Capture (?:cuda|CUDA|cpu|device) graph failed: ?(?P<reason>.{0,200})": (
        "Capture CUDA graph failed:",
        "Capture cpu graph failed:",
        "Capture cuda graph failed:",
        "Capture device graph failed:",
    ),
    "(?P<kind>Prefill|Decode) out of memory\\. Try to lower your batch size": (
        "Decode out of memory. Try to lower your batch size",
        "Prefill out of memory. Try to lower your batch size",
    ),
    "No space left for only one request": ("No space left for only one request",),
    "(?P<kind>(?:Prefill|Decode) transfer|[Pp]re-?alloc\\w*|Extend) out of memory\\. Try to lower": (
        " out of memory. Try to lower",
    ),
    "(?P<kind>alloc_req_slots) runs out of memory": ("alloc_req_slots runs out of memory",),
    "(?:KV cache pool is full|Decode out of memory happened)\\. (?:Retract requests\\. )?#retracted_reqs: (?P<retracted>\\d+)(?:, #aborted_retracted_reqs: \\d+)?(?:, #new_token_ratio: (?P<ratio>[\\d.]+) -> (?P<ratio_after>[\\d.]+))?": (
        "Decode out of memory happened. #retracted_reqs: ",
        "Decode out of memory happened. Retract requests. #retracted_reqs: ",
        "KV cache pool is full. #retracted_reqs: ",
        "KV cache pool is full. Retract requests. #retracted_reqs: ",
    ),
    "[Ww]atchdog timeout \\((?:self\\.)?watchdog_timeout=(?P<lasted>\\d+)": (
        "Watchdog timeout (self.watchdog_timeout=",
        "Watchdog timeout (watchdog_timeout=",
        "watchdog timeout (self.watchdog_timeout=",
        "watchdog timeout (watchdog_timeout=",
    ),
    "SIGQUIT received\\. signum=|(?:Scheduler|TpModelWorkerClient|Detokenizer\\w*|TokenizerManager) hit an exception": (
        " hit an exception",
        "SIGQUIT received. signum=",
    ),
    "Health check failed\\. Server couldn't get a response from detokenizer for last (?P<lasted>\\d+) seconds": (
        "Health check failed. Server couldn't get a response from detokenizer for last ",
    ),
    "The memory capacity is unbalanced\\. ?(?:Some GPUs may be occupied by other processes)?": (
        "The memory capacity is unbalanced.",
    ),
    "TP rank (?P<waiting_rank>\\d+) could finish the model loading, but there are other ranks that didn't finish loading": (
        " could finish the model loading, but there are other ranks that didn't finish loading",
    ),
    "server busy, please try again\\.\\s+maximum pending requests exceeded": (
        "server busy, please try again.",
    ),
    'truncating input prompt\\"? .{0,20}?limit=(?P<limit>\\d+) prompt=(?P<prompt>\\d+)': (
        "truncating input prompt ",
        'truncating input prompt" ',
    ),
    "<<input too long: skipped (?P<skipped>\\d+) tokens>>": ("<<input too long: skipped ",),
    "stop processing: n_(?:tokens|past) = (?P<limit>\\d+), truncated = 1": (
        "stop processing: n_past = ",
        "stop processing: n_tokens = ",
    ),
    "llama runner started in (?P<seconds>[\\d.]+) seconds": ("llama runner started in ",),
    "model predicted to exceed available memory, evicting|predicted usage exceeds VRAM": (
        "model predicted to exceed available memory, evicting",
        "predicted usage exceeds VRAM",
    ),
    "timed out waiting for llama runner to start": ("timed out waiting for llama runner to start",),
    "(?P<reason>cudaMalloc failed: out of memory|llama-server reported out-of-memory during startup|failed to allocate (?:\\w+ )?buffer for (?P<what>kv cache|the KV cache))": (
        "cudaMalloc failed: out of memory",
        "failed to allocate ",
        "llama-server reported out-of-memory during startup",
    ),
    "ggml_backend_cpu\\w*_alloc_buffer: failed to allocate buffer of size (?P<requested>\\d+)": (
        "_alloc_buffer: failed to allocate buffer of size ",
    ),
    "ggml_aligned_malloc: insufficient memory \\(attempted to allocate +(?P<requested>[\\d.]+ MB)\\)": (
        "ggml_aligned_malloc: insufficient memory (attempted to allocate ",
    ),
    "(?:llama_\\w+: n_ctx +=|\\bn_ctx_slot =|runner\\.num_ctx=|--ctx-size(?: |=)) *(?P<tokens>\\d+)": (
        "--ctx-size ",
        "--ctx-size=",
        ": n_ctx ",
        "n_ctx_slot =",
        "runner.num_ctx=",
    ),
    "compute buffer allocation failed, retrying without pipeline parallelism": (
        "compute buffer allocation failed, retrying without pipeline parallelism",
    ),
    "Not enough memory to handle (?P<wanted>\\d+) (?P<what>prefill|total) tokens": (
        "Not enough memory to handle ",
    ),
    "Model is overloaded": ("Model is overloaded",),
    'total_time=\\"(?P<total>[\\d.]+(?:ns|µs|ms|s))\\" validation_time=\\"[\\d.]+\\S{1,3}\\" queue_time=\\"(?P<queue>[\\d.]+(?:ns|µs|ms|s))\\" inference_time=\\"(?P<inference>[\\d.]+(?:ns|µs|ms|s))\\"': (
        's" validation_time="',
    ),
    "(?:[Pp]rompt|[Ii]nput) length \\(?(?P<tokens>\\d+)\\)? exceeds (?:the )?maximum input length": (
        " exceeds maximum input length",
        " exceeds the maximum input length",
    ),
    "Encountered an error in forwardAsync function": (
        "Encountered an error in forwardAsync function",
    ),
    "\\[MemUsageChange\\] Allocated (?P<memory>[\\d.]+ [KMG]iB) for max tokens in paged KV cache \\((?P<tokens>\\d+)\\)": (
        "[MemUsageChange] Allocated ",
    ),
    "NVIDIA-SMI [\\d.]+ +(?:Driver|KMD) Version: (?P<value>[\\d.]+)": (
        " Driver Version: ",
        " KMD Version: ",
    ),
    "^Driver Version {3,}: (?P<value>\\d[\\d.]+)\\s*$": ("Driver Version   ",),
    "\\bCUDA (?:UMD )?Version: (?P<value>\\d+\\.\\d+) +\\|": (
        "CUDA UMD Version: ",
        "CUDA Version: ",
    ),
    "^CUDA Version {3,}: (?P<value>\\d+\\.\\d+)\\s*$": ("CUDA Version   ",),
    "Detected (?P<count>\\d+) volatile double-bit ECC error\\(s\\) in GPU (?P<index>\\d+)": (
        " volatile double-bit ECC error(s) in GPU ",
    ),
    "GPU (?P<index>\\d+) had uncorrectable memory errors and (?:row remapping failed|(?P<count>\\d+) rows were remapped)": (
        " had uncorrectable memory errors and ",
    ),
    "GPU (?P<index>\\d+) exceeded uncorrectable row remap limit with (?P<count>\\d+) remapped rows": (
        " exceeded uncorrectable row remap limit with ",
    ),
    "SRAM Threshold Count exceeded on GPU (?P<index>\\d+): (?P<count>\\d+)": (
        "SRAM Threshold Count exceeded on GPU ",
    ),
    "GPU (?:(?P<index>\\d+) )?had an? (?:un)?contained error": (
        "had a contained error",
        "had a uncontained error",
        "had an contained error",
        "had an uncontained error",
    ),
    "Found (?P<count>\\d+) faulty memory elements on GPU (?P<index>\\d+)": (
        " faulty memory elements on GPU ",
    ),
    "Found (?P<count>\\d+) NaN-value memory elements on GPU (?P<index>\\d+)": (
        " NaN-value memory elements on GPU ",
    ),
    "GPU (?P<index>\\d+) had memory errors and row remappings are pending": (
        " had memory errors and row remappings are pending",
    ),
    "A pending retired page has been detected in GPU (?P<index>\\d+)": (
        "A pending retired page has been detected in GPU ",
    ),
    "GPU (?P<index>\\d+) is running at PCI link (?:generation|width) (?P<value>\\d+)X?, which is below the minimum allowed link (?:generation|width) of (?P<limit>\\d+)": (
        ", which is below the minimum allowed link ",
    ),
    "Detected more than \\d+ PCIe replays per minute for GPU (?P<index>\\d+) : (?P<count>\\d+)": (
        " PCIe replays per minute for GPU ",
    ),
    "GPU (?P<index>\\d+) host-side PCIe replay violation": (" host-side PCIe replay violation",),
    "Bandwidth of GPU (?P<index>\\d+) in direction .{1,40}? of (?P<value>\\d+(?:\\.\\d+)?) did not exceed minimum required bandwidth of (?P<limit>\\d+(?:\\.\\d+)?)": (
        " did not exceed minimum required bandwidth of ",
    ),
    "GPU (?P<index>\\d+)'s NvLink link (?P<link>\\d+) is currently down": (" is currently down",),
    "Only (?P<value>\\d+) NvLinks are up out of the expected (?P<limit>\\d+)": (
        " NvLinks are up out of the expected ",
    ),
    "Detected (?P<count>\\d+) \\S+ NvLink errors on GPU (?P<index>\\d+)'s NVLink which exceeds threshold": (
        "'s NVLink which exceeds threshold",
    ),
    "(?P<value>\\d+(?:\\.\\d+)?) \\S+ NvLink errors found occuring per second on GPU (?P<index>\\d+), exceeding the limit": (
        " NvLink errors found occuring per second on GPU ",
    ),
    "Detected symbol BER (?P<value>[\\d.e+-]+) exceeds minimum threshold on GPU (?P<index>\\d+)'s NVLink": (
        " exceeds minimum threshold on GPU ",
    ),
    "NvSwitch physical ID (?P<switch>\\d+)'s NvLink port (?P<link>\\d+) is currently down": (
        "NvSwitch physical ID ",
    ),
    "Detected fatal NvSwitch SXID (?P<sxid>\\d+)": ("Detected fatal NvSwitch SXID ",),
    "Detected clocks event due to (?P<reason>thermal|power) violation in GPU (?P<index>\\d+)": (
        "Detected clocks event due to ",
    ),
    "There were (?P<reason>thermal|power) violations totaling (?P<value>\\d+(?:\\.\\d+)?) seconds for GPU (?P<index>\\d+)": (
        "There were power violations totaling ",
        "There were thermal violations totaling ",
    ),
    "Temperature (?P<value>\\d+) of GPU (?P<index>\\d+) exceeded user-specified maximum allowed temperature (?P<limit>\\d+)": (
        " exceeded user-specified maximum allowed temperature ",
    ),
    "Max stress level of (?P<value>\\d+(?:\\.\\d+)?) did not reach desired stress level of (?P<limit>\\d+(?:\\.\\d+)?) for GPU (?P<index>\\d+)": (
        " did not reach desired stress level of ",
    ),
    "Detected (?P<value>\\d+(?:\\.\\d+)?) \\S.{0,40}? for GPU (?P<index>\\d+) which is below the threshold (?P<limit>\\d+(?:\\.\\d+)?)": (
        " which is below the threshold ",
    ),
    "Detected XID (?P<xid>\\d+) for GPU (?P<index>\\d+)": ("Detected XID ",),
    "GPU (?P<index>\\d+) has fallen off the bus": (" has fallen off the bus",),
    "Fabric Manager \\(Cluster UUID: \\S*, Clique ID: -?\\d+, Health Mask: \\S+\\): (?P<status>[^\\r\\n|]+)": (
        "Fabric Manager (Cluster UUID: ",
    ),
    "^# All processes entering MPI_Finalize": ("# All processes entering MPI_Finalize",),
    "^# Out of bounds values : 0 OK": ("# Out of bounds values : 0 OK",),
    "/sys/class/infiniband/(?P<nic>[^/\\s]+)/ports/(?P<port>\\d+)/(?:hw_)?counters/(?P<counter>\\w+):\\s?(?P<value>\\d+)\\s*$": (
        "/sys/class/infiniband/",
    ),
    'File "[^"]*/torch/utils/data/[^"]+", line \\d+': ("/torch/utils/data/",),
    "RNG\\ state\\ restored": ("RNG state restored",),
    "Detected mismatch between collectives on ranks\\. Rank (?P<rank>\\d+) is running inconsistent collective: CollectiveFingerPrint\\(OpType=(?P<op>[A-Z_]+)(?:, TensorShape=\\[(?P<shape>[^\\]]*)\\])?": (
        "Detected mismatch between collectives on ranks. Rank ",
    ),
    "(?:returned 802|code=802|Error 802)\\b": ("Error 802", "code=802", "returned 802"),
    "GID\\[ *[01]\\]:\\s+fe80::": ("fe80::",),
    "==>.{0,200}\\(Could be ": ("(Could be ",),
    "(?:[Uu]sing|[Tt]ry|[Tt]rying|[Pp]icked|[Ff]alling back to) (?:the )?(?:next free port|next available port|next port|another port|a different port|a new port|new port|random port|a random port|a free port|free port)": (
        "a different port",
        "another port",
        "free port",
        "new port",
        "next available port",
        "next port",
        "random port",
    ),
    "ncclSystemError:\\ System\\ call": ("ncclSystemError: System call",),
    "ncclRemoteError:\\ A\\ call\\ failed": ("ncclRemoteError: A call failed",),
    "^nr_throttled (?P<times>\\d+)$": ("nr_throttled ",),
    "temperature above threshold, cpu clock throttled|System throttled by thermal|Critical temperature reached": (
        "Critical temperature reached",
        "System throttled by thermal",
        "temperature above threshold, cpu clock throttled",
    ),
    "forked subprocess|multiprocessing/(?:popen_)?fork": (
        "forked subprocess",
        "multiprocessing/fork",
        "multiprocessing/popen_fork",
    ),
    "nvidia[./]dali|\\bdecord\\b|torchcodec|PyNvVideoCodec|NVDEC|nvcuvid|nvjpeg": (
        "NVDEC",
        "PyNvVideoCodec",
        "decord",
        "nvcuvid",
        "nvidia.dali",
        "nvidia/dali",
        "nvjpeg",
        "torchcodec",
    ),
    "^Attached GPUs\\s+: [07]$": ("Attached GPUs",),
    "MHz.{0,200}0x0000000000000[0-9a-f](?:[2-9a-f][0-9a-f]|[01][89a-f])\\b": ("0x0000000000000",),
    "ray\\.exceptions\\.OutOfMemoryError:\\ Task\\ was\\ killed": (
        "ray.exceptions.OutOfMemoryError: Task was killed",
    ),
    "Fatal Python error: (?P<fault>Segmentation fault|Bus error|Illegal instruction|Floating point exception)": (
        "Fatal Python error: Bus error",
        "Fatal Python error: Floating point exception",
        "Fatal Python error: Illegal instruction",
        "Fatal Python error: Segmentation fault",
    ),
    "MnEtpt/Rnk: (?P<low>[\\d.]+)TF/(?P<rank>\\d+) \\| MxEtpt/Rnk: (?P<high>[\\d.]+)TF/\\d+": (
        " | MxEtpt/Rnk: ",
    ),
    "^\\s*Rank=(?P<rank>\\d+) Node=(?P<host>[\\w.-]+) Score=(?P<score>[\\d.]+)": (" Score=",),
    "Straggler: \\{(?P<node>\\d+): [\\d.]+\\}": ("Straggler: {",),
    "MnClk/Rnk: [\\d.]+MHz/(?P<rank>\\d+)": ("MnClk/Rnk: ",),
    "hipErrorNoBinaryForGpu|HIP error: invalid device function": (
        "HIP error: invalid device function",
        "hipErrorNoBinaryForGpu",
    ),
    "trap invalid opcode ip:": ("trap invalid opcode ip:",),
    "version `(?:GLIBC|GLIBCXX|CXXABI)_[\\d.]+' not found|ld\\.so: object .* from LD_PRELOAD cannot be preloaded|error while loading shared libraries:|\\.so(?:\\.\\d+){0,3}: undefined symbol: |\\bld(?:\\.\\w+)?: cannot find -l\\w+|unsupported GNU version! gcc|nvcc fatal +: Unsupported gpu architecture": (
        " : Unsupported gpu architecture",
        " from LD_PRELOAD cannot be preloaded",
        ": cannot find -l",
        ": undefined symbol: ",
        "error while loading shared libraries:",
        "unsupported GNU version! gcc",
        "version `CXXABI_",
        "version `GLIBCXX_",
        "version `GLIBC_",
    ),
    "\\.py: error: (?:unrecognized arguments|the following arguments are required|argument |ambiguous option)": (
        ".py: error: ambiguous option",
        ".py: error: argument ",
        ".py: error: the following arguments are required",
        ".py: error: unrecognized arguments",
    ),
    "only\\ supported\\ on\\ GPUs\\ with\\ compute\\ capability\\ of\\ at\\ least": (
        "only supported on GPUs with compute capability of at least",
    ),
    "GB[23]00|MNNVL 1|NVL72": ("GB200", "GB300", "MNNVL 1", "NVL72"),
}
