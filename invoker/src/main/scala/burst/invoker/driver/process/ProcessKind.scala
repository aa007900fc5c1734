package burst.invoker.driver
package process

import burst.node.RuntimeBinary

object ProcessKind extends DriverKind:
  val name = "process"
  override val sharesAddress = true

  def connect(settings: DriverSettings, host: DriverHost): ConnectedDriver =
    val own = ProcessSettings.read(settings, host.runtimeBinary)
    ConnectedDriver(ProcessDriver(own, host.blocking), RuntimeBinary(host.runtimeBinary).describe())
