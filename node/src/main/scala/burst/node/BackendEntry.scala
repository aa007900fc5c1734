package burst.node

import com.typesafe.config.{ConfigObject, ConfigValue, ConfigValueFactory, ConfigValueType}
import scala.jdk.CollectionConverters.*

/** One of `burst.backends`, whose names are the operator's; `reference.conf` explains the forms. */
private[node] object BackendEntry:
  /** What programs can be built with; see the BCM. */
  private val Kinds = Vector("direct", "redis-list", "redis-stream", "rabbitmq", "s3")
  private val Keys = Set("kind", "uri", "ca", "shared-credentials", "keeps-nothing")

  /** With its kind. Throws `SetupException`; an address may hold a password, so that none is told. */
  def of(setting: String, name: String, value: ConfigValue): ConfigValue =
    value match
      case entry: ConfigObject =>
        entry.keySet.asScala.filterNot(Keys).foreach: key =>
          throw SetupException(
            s"there is no setting $setting.$key: a backend has kind, uri, ca and shared-credentials."
          )
        val kind = Option(entry.get("kind")).map(_.unwrapped.toString).getOrElse(name)
        if !Kinds.contains(kind) then throw SetupException(s"$setting.kind is '$kind': give $kinds.")
        entry.withValue("kind", ConfigValueFactory.fromAnyRef(kind))
      case address if address.valueType == ConfigValueType.STRING =>
        if !Kinds.contains(name) then
          throw SetupException(
            s"$setting: a bare address is of the kind it is named by, and there is no kind '$name': give $kinds, " +
              s"or { kind = …, uri = … } to a name of your own."
          )
        ConfigValueFactory.fromMap(Map("kind" -> name, "uri" -> address.unwrapped).asJava)
      case _ => throw SetupException(s"$setting must be an address, or { kind = …, uri = … }.")

  private def kinds: String = s"${Kinds.init.mkString(", ")} or ${Kinds.last}"
