package burst.invoker.driver
package docker

import burst.node.RuntimeBinary

object DockerKind extends DriverKind:
  val name = "docker"

  def connect(settings: DriverSettings, host: DriverHost): ConnectedDriver =
    val own = DockerSettings.read(settings)
    val daemon = DockerDaemon.connect(own)
    val owner = DirectoryId.in(host.directory)
    val blanks = host.directory.resolve("prewarmed")
    val calls = host.threads("burst-docker", own.parallelism)
    val binary = RuntimeBinary(host.runtimeBinary)
    val files = RuntimeFiles(binary, host.directory.resolve("runtime"))
    val servers = BackendServers(binary.servers)
    val pulled = host.directory.resolve("pulled-images.json")
    val driver = DockerDriver(own, owner, daemon, files, blanks, pulled, host.containers, servers, calls)
    ConnectedDriver(driver, daemon.runtime)
