package burst.controller.metrics

import com.typesafe.config.Config

/** `burst.metrics`: whether the metrics of flares are labelled by namespace and definition, for how many
  * namespaces, and for how many definitions of each.
  */
final case class MetricsSettings(byNamespace: Boolean, namespaces: Int, definitions: Int)

object MetricsSettings:
  /** The default settings: no labels by namespace. */
  val Plain: MetricsSettings = MetricsSettings(byNamespace = false, namespaces = 0, definitions = 0)

  def from(root: Config): MetricsSettings =
    val config = root.getConfig("burst.metrics")
    MetricsSettings(
      config.getBoolean("by-namespace"),
      config.getInt("namespaces"),
      config.getInt("definitions")
    )
