package burst.node

import com.typesafe.config.{ConfigObject, ConfigValue, ConfigValueFactory, ConfigValueType}
import scala.jdk.CollectionConverters.*

/** One entry of `burst.backends`, whose names are the operator's; `reference.conf` explains the forms. */
private[node] object BackendEntry:
  /** Every runtime has it, so there is no need to ask one. */
  private val Direct = "direct"
  private val Keys = Set("kind", "uri", "ca", "shared-credentials", "keeps-nothing")

  /** The entry with its kind, which is one of `kinds`. Throws `SetupException`, which shows no address, since
    * it may hold a password.
    */
  def of(setting: String, name: String, value: ConfigValue, kinds: => Vector[String]): ConfigValue =
    def isKind(kind: String) = kind == Direct || kinds.contains(kind)
    def give = s"give ${kinds.init.mkString(", ")} or ${kinds.last}"
    value match
      case entry: ConfigObject =>
        entry.keySet.asScala.filterNot(Keys).foreach: key =>
          throw SetupException(
            s"there is no setting $setting.$key: a backend has kind, uri, ca, shared-credentials and keeps-nothing."
          )
        val kind = Option(entry.get("kind")).map(_.unwrapped.toString).getOrElse(name)
        if !isKind(kind) then throw SetupException(s"$setting.kind is '$kind': $give.")
        entry.withValue("kind", ConfigValueFactory.fromAnyRef(kind))
      case address if address.valueType == ConfigValueType.STRING =>
        if !isKind(name) then
          throw SetupException(
            s"$setting: a bare address is of the kind it is named by, and there is no kind '$name': $give, " +
              s"or { kind = …, uri = … } to a name of your own."
          )
        ConfigValueFactory.fromMap(Map("kind" -> name, "uri" -> address.unwrapped).asJava)
      case _ => throw SetupException(s"$setting must be an address, or { kind = …, uri = … }.")
