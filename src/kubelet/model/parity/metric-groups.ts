/**
 * The metric families of each upstream endpoint, by stability, and which of them are absent here. Kept separate from
 * their registration: a test compares the two, and the table of docs/metrics.md is generated from it. Names and
 * stabilities are upstream's (v1.36); `nodejs_` families replace the `go_` ones.
 */
export interface MetricGroup {
  readonly endpoint: '/metrics' | '/metrics/resource' | '/metrics/cadvisor' | '/metrics/probes' | '/metrics/slis';
  readonly about: string;
  /** Why the families are not registered. If absent, the agent registers and sets them. */
  readonly absent?: string;
  readonly stable?: string;
  readonly beta?: string;
  readonly alpha?: string;
}

export const metricGroups: readonly MetricGroup[] = [
  {
    endpoint: '/metrics',
    about: 'the process',
    alpha: `
      nodejs_eventloop_utilization_ratio nodejs_heap_size_total_bytes nodejs_heap_size_used_bytes process_cpu_seconds_total process_max_fds
      process_network_receive_bytes_total process_network_transmit_bytes_total process_open_fds process_resident_memory_bytes process_start_time_seconds
      process_virtual_memory_bytes process_virtual_memory_max_bytes
    `,
  },
  {
    endpoint: '/metrics',
    about: 'node, server, certificates, hooks',
    beta: `
      kubernetes_build_info kubernetes_feature_enabled registered_metrics_total
    `,
    alpha: `
      kubelet_certificate_manager_client_expiration_renew_errors kubelet_certificate_manager_client_ttl_seconds kubelet_certificate_manager_server_rotation_seconds
      kubelet_certificate_manager_server_ttl_seconds kubelet_cgroup_version kubelet_container_log_filesystem_used_bytes kubelet_cri_losing_support
      kubelet_http_inflight_requests
      kubelet_http_requests_duration_seconds kubelet_http_requests_total kubelet_lifecycle_handler_http_fallbacks_total kubelet_metrics_provider kubelet_node_name
      kubelet_node_startup_duration_seconds kubelet_node_startup_post_registration_duration_seconds kubelet_node_startup_pre_kubelet_duration_seconds
      kubelet_node_startup_pre_registration_duration_seconds kubelet_node_startup_registration_duration_seconds kubelet_server_expiration_renew_errors
      kubelet_sleep_action_terminated_early_total kubelet_websocket_streaming_requests_total
    `,
  },
  {
    endpoint: '/metrics',
    about: 'requests to the API server',
    alpha: `
      rest_client_exec_plugin_ttl_seconds rest_client_rate_limiter_duration_seconds rest_client_request_duration_seconds rest_client_request_retries_total rest_client_request_size_bytes
      rest_client_requests_total rest_client_response_size_bytes
    `,
  },
  {
    endpoint: '/metrics',
    about: 'pods and containers',
    alpha: `
      kubelet_active_pods kubelet_admission_rejections_total kubelet_containers_per_pod_count kubelet_desired_pods kubelet_managed_ephemeral_containers
      kubelet_mirror_pods kubelet_orphaned_runtime_pods_total kubelet_restarted_pods_total kubelet_running_containers kubelet_running_pods
      kubelet_started_containers_errors_total kubelet_started_containers_total kubelet_started_pods_errors_total kubelet_started_pods_total
      kubelet_started_user_namespaced_pods_errors_total kubelet_started_user_namespaced_pods_total kubelet_terminated_containers_total kubelet_working_pods
    `,
  },
  {
    endpoint: '/metrics',
    about: 'volumes',
    alpha: `
      csi_operations_seconds kubelet_orphan_pod_cleaned_volumes kubelet_orphan_pod_cleaned_volumes_errors kubelet_volume_metric_collection_duration_seconds
      kubelet_volume_stats_available_bytes kubelet_volume_stats_capacity_bytes kubelet_volume_stats_health_status_abnormal kubelet_volume_stats_inodes
      kubelet_volume_stats_inodes_free kubelet_volume_stats_inodes_used kubelet_volume_stats_used_bytes plugin_manager_total_plugins reconstruct_volume_operations_total
      storage_operation_duration_seconds volume_manager_total_volumes
    `,
  },
  {
    endpoint: '/metrics',
    about: 'images and calls to the runtime',
    beta: `
      kubelet_image_volume_mounted_errors_total kubelet_image_volume_mounted_succeed_total kubelet_image_volume_requested_total
    `,
    alpha: `
      kubelet_credential_provider_plugin_duration kubelet_credential_provider_plugin_errors_total kubelet_image_garbage_collected_total
      kubelet_image_manager_ensure_image_requests_total kubelet_image_pull_duration_seconds kubelet_imagemanager_image_mustpull_checks_total
      kubelet_imagemanager_inmemory_pulledrecords_usage_percent kubelet_imagemanager_inmemory_pullintents_usage_percent kubelet_imagemanager_ondisk_pulledrecords
      kubelet_imagemanager_ondisk_pullintents kubelet_runtime_operations_duration_seconds kubelet_runtime_operations_errors_total kubelet_runtime_operations_total
    `,
  },
  {
    endpoint: '/metrics',
    about: 'starts and latencies',
    alpha: `
      kubelet_cgroup_manager_duration_seconds kubelet_first_network_pod_start_sli_duration_seconds kubelet_pod_start_duration_seconds
      kubelet_pod_start_sli_duration_seconds kubelet_pod_start_total_duration_seconds kubelet_pod_status_sync_duration_seconds kubelet_pod_worker_duration_seconds
      kubelet_pod_worker_start_duration_seconds kubelet_run_podsandbox_duration_seconds kubelet_run_podsandbox_errors_total
    `,
  },
  {
    endpoint: '/metrics',
    about: 'MemoryQoS',
    alpha: `
      kubelet_memory_qos_node_memory_low_bytes kubelet_memory_qos_node_memory_min_bytes
    `,
  },
  {
    endpoint: '/metrics',
    about: 'PLEG',
    alpha: `
      kubelet_pleg_last_seen_seconds kubelet_pleg_pod_relist_duration_seconds kubelet_pleg_relist_duration_seconds kubelet_pleg_relist_interval_seconds
    `,
  },
  {
    endpoint: '/metrics',
    about: 'resizes',
    alpha: `
      kubelet_container_requested_resizes_total kubelet_pod_deferred_accepted_resizes_total kubelet_pod_in_progress_resizes kubelet_pod_infeasible_resizes_total
      kubelet_pod_pending_resizes kubelet_pod_resize_duration_milliseconds
    `,
  },
  {
    endpoint: '/metrics',
    about: 'evictions',
    alpha: `
      kubelet_eviction_stats_age_seconds kubelet_evictions
    `,
  },
  {
    endpoint: '/metrics',
    about: 'preemptions',
    alpha: `
      kubelet_preemptions
    `,
  },
  {
    endpoint: '/metrics',
    about: 'shutdowns of the node',
    alpha: `
      kubelet_graceful_shutdown_end_time_seconds kubelet_graceful_shutdown_start_time_seconds
    `,
  },
  {
    endpoint: '/metrics',
    about: 'device plugins, DRA, pod resources, pods, pod certificates',
    alpha: `
      dra_grpc_operations_duration_seconds dra_operations_duration_seconds dra_resource_claims_in_use
      kubelet_device_plugin_alloc_duration_seconds kubelet_device_plugin_registration_total kubelet_pod_resources_endpoint_errors_get
      kubelet_pod_resources_endpoint_requests_get kubelet_pod_resources_endpoint_requests_get_allocatable
      kubelet_pod_resources_endpoint_requests_list kubelet_pod_resources_endpoint_requests_total
      kubelet_pod_watch_events_dropped_total kubelet_podcertificate_states
    `,
  },
  {
    endpoint: '/metrics',
    about: 'CPU, memory and topology managers',
    alpha: `
      kubelet_container_aligned_compute_resources_count kubelet_container_aligned_compute_resources_failure_count kubelet_cpu_manager_allocation_per_numa
      kubelet_cpu_manager_exclusive_cpu_allocation_count kubelet_cpu_manager_pinning_errors_total kubelet_cpu_manager_pinning_requests_total
      kubelet_cpu_manager_shared_pool_size_millicores kubelet_memory_manager_pinning_errors_total kubelet_memory_manager_pinning_requests_total kubelet_topology_manager_admission_duration_ms kubelet_topology_manager_admission_errors_total
      kubelet_topology_manager_admission_requests_total resource_manager_allocation_errors_total resource_manager_allocations_total resource_manager_container_assignments
    `,
  },
  {
    endpoint: '/metrics',
    about: 'failures of pod resources',
    absent: 'they cannot occur here',
    alpha: `
      kubelet_pod_resources_endpoint_errors_get_allocatable
      kubelet_pod_resources_endpoint_errors_list
    `,
  },
  {
    endpoint: '/metrics',
    about: 'host process containers',
    absent: 'Windows only',
    alpha: `
      kubelet_started_host_process_containers_errors_total kubelet_started_host_process_containers_total
    `,
  },
  {
    endpoint: '/metrics',
    about: 'SELinux, forced clean-up, provisioning',
    absent: 'a kubelet with default settings does not count them, or the failure cannot occur here',
    alpha: `
      force_cleaned_failed_volume_operation_errors_total force_cleaned_failed_volume_operations_total reconstruct_volume_operations_errors_total
      volume_manager_selinux_container_errors_total volume_manager_selinux_container_warnings_total volume_manager_selinux_pod_context_mismatch_errors_total
      volume_manager_selinux_pod_context_mismatch_warnings_total volume_manager_selinux_volume_context_mismatch_errors_total
      volume_manager_selinux_volume_context_mismatch_warnings_total volume_manager_selinux_volumes_admitted_total volume_operation_total_seconds
    `,
  },
  {
    endpoint: '/metrics',
    about: 'stream of events of the runtime (EventedPLEG), discarded events',
    absent: 'upstream does not use the stream by default; no event is discarded here',
    alpha: `
      kubelet_evented_pleg_connection_error_count kubelet_evented_pleg_connection_latency_seconds kubelet_evented_pleg_connection_success_count
      kubelet_pleg_discard_events
    `,
  },
  {
    endpoint: '/metrics',
    about: 'work queues, connections and credential plugins of the API client',
    absent: 'they describe the internals of client-go; credential plugins of a kubeconfig work but are not counted',
    beta: `
      workqueue_adds_total workqueue_depth workqueue_longest_running_processor_seconds workqueue_queue_duration_seconds workqueue_retries_total
      workqueue_unfinished_work_seconds workqueue_work_duration_seconds
    `,
    alpha: `
      rest_client_dns_resolution_duration_seconds rest_client_exec_plugin_call_total rest_client_exec_plugin_certificate_rotation_age
      rest_client_exec_plugin_policy_call_total rest_client_transport_ca_reload_total rest_client_transport_cache_entries
      rest_client_transport_cache_gc_calls_total rest_client_transport_cert_rotation_gc_calls_total rest_client_transport_create_calls_total
    `,
  },
  {
    endpoint: '/metrics',
    about: 'families that are switched off',
    absent: 'no family can be switched off',
    beta: `
      disabled_metrics_total hidden_metrics_total
    `,
  },
  {
    endpoint: '/metrics/resource',
    about: 'use of CPU, memory and swap',
    stable: `
      container_cpu_usage_seconds_total container_memory_working_set_bytes container_start_time_seconds node_cpu_usage_seconds_total node_memory_working_set_bytes
      pod_cpu_usage_seconds_total pod_memory_working_set_bytes resource_scrape_error
    `,
    alpha: `
      container_swap_limit_bytes container_swap_usage_bytes node_swap_usage_bytes pod_swap_usage_bytes
    `,
  },
  {
    endpoint: '/metrics/probes',
    about: 'probes',
    beta: `
      prober_probe_total
    `,
    alpha: `
      prober_probe_duration_seconds process_start_time_seconds
    `,
  },
  {
    endpoint: '/metrics/slis',
    about: 'health checks of the agent itself',
    stable: `
      kubernetes_healthcheck kubernetes_healthchecks_total
    `,
    alpha: `
      process_start_time_seconds
    `,
  },
  {
    endpoint: '/metrics/cadvisor',
    about: 'CPU, memory, pressure and limits of groups',
    alpha: `
      container_cpu_cfs_burst_periods_total container_cpu_cfs_burst_seconds_total container_cpu_cfs_periods_total container_cpu_cfs_throttled_periods_total
      container_cpu_cfs_throttled_seconds_total container_cpu_load_average_10s container_cpu_load_d_average_10s container_cpu_system_seconds_total
      container_cpu_usage_seconds_total container_cpu_user_seconds_total container_last_seen container_memory_cache container_memory_failcnt
      container_memory_failures_total container_memory_kernel_usage container_memory_mapped_file container_memory_max_usage_bytes container_memory_rss
      container_memory_swap container_memory_total_active_file_bytes container_memory_total_inactive_file_bytes container_memory_usage_bytes
      container_memory_working_set_bytes container_oom_events_total container_pressure_cpu_stalled_seconds_total container_pressure_cpu_waiting_seconds_total
      container_pressure_io_stalled_seconds_total container_pressure_io_waiting_seconds_total container_pressure_memory_stalled_seconds_total
      container_pressure_memory_waiting_seconds_total container_spec_cpu_period container_spec_cpu_quota container_spec_cpu_shares container_spec_memory_limit_bytes
      container_spec_memory_reservation_limit_bytes container_spec_memory_swap_limit_bytes container_start_time_seconds container_tasks_state
    `,
  },
  {
    endpoint: '/metrics/cadvisor',
    about: 'disks, network and processes of groups',
    alpha: `
      container_blkio_device_usage_total container_file_descriptors container_fs_inodes_free container_fs_inodes_total container_fs_io_current
      container_fs_io_time_seconds_total container_fs_io_time_weighted_seconds_total container_fs_limit_bytes container_fs_read_seconds_total
      container_fs_reads_bytes_total container_fs_reads_merged_total container_fs_reads_total container_fs_sector_reads_total container_fs_sector_writes_total
      container_fs_usage_bytes container_fs_write_seconds_total container_fs_writes_bytes_total container_fs_writes_merged_total container_fs_writes_total
      container_network_receive_bytes_total container_network_receive_errors_total container_network_receive_packets_dropped_total container_network_receive_packets_total
      container_network_transmit_bytes_total container_network_transmit_errors_total container_network_transmit_packets_dropped_total
      container_network_transmit_packets_total container_processes container_sockets container_threads container_threads_max container_ulimits_soft
    `,
  },
  {
    endpoint: '/metrics/cadvisor',
    about: 'the machine',
    alpha: `
      cadvisor_version_info container_scrape_error machine_cpu_books machine_cpu_cores machine_cpu_drawers machine_cpu_physical_cores machine_cpu_sockets
      machine_memory_bytes machine_nvm_avg_power_budget_watts machine_nvm_capacity machine_scrape_error machine_swap_bytes
    `,
  },
];

/** Returns the names in one of the texts of a group. */
export function namesIn(text = ''): string[] {
  return text.split(/\s+/).filter((name) => name !== '');
}
