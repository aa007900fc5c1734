package burst.controller.metrics

import com.typesafe.config.Config

/** `burst.metrics`: whether what is known of flares is told by namespace and definition, of how many
  * namespaces, and of how many definitions of each.
  */
final case class MetricsSettings(byNamespace: Boolean, namespaces: Int, definitions: Int)

object MetricsSettings:
  /** As the settings are by default: nothing by namespace. */
  val Plain: MetricsSettings = MetricsSettings(byNamespace = false, namespaces = 0, definitions = 0)

  def from(root: Config): MetricsSettings =
    val config = root.getConfig("burst.metrics")
    MetricsSettings(
      config.getBoolean("by-namespace"),
      config.getInt("namespaces"),
      config.getInt("definitions")
    )
