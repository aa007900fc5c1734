package burst.standalone

import io.circe.parser.parse
import io.circe.{ACursor, Json}
import java.nio.file.{Files, Path}
import org.snakeyaml.engine.v2.api.{Load, LoadSettings}
import scala.jdk.CollectionConverters.*
import scala.util.Using

/** The chart's dashboards and alerts, and their Prometheus expressions. */
private[standalone] object Monitoring:
  private val directory =
    Path.of(sys.props("user.dir")).resolveSibling("deploy").resolve("k8s/burst/monitoring")

  def dashboards: Vector[Json] =
    val files = Using.resource(Files.list(directory.resolve("dashboards")))(_.iterator.asScala.toVector)
    files.sorted.map(file => parse(Files.readString(file)).fold(throw _, identity))

  /** All panels except the headings of rows. */
  def panels(dashboard: Json): Vector[Json] =
    elements(dashboard.hcursor.downField("panels")).filterNot(text(_, "type") == "row")

  def expressions: Vector[Expression] = dashboards.flatMap(ofDashboard) ++ ofAlerts

  private def ofDashboard(dashboard: Json): Vector[Expression] =
    val name = text(dashboard, "title")
    val drawn =
      for
        panel <- panels(dashboard)
        target <- elements(panel.hcursor.downField("targets"))
      yield Expression(
        s"$name: ${text(panel, "title")}",
        text(target, "expr"),
        Legend.findAllMatchIn(text(target, "legendFormat")).map(_.group(1)).toSet
      )
    val offered =
      for
        variable <- elements(dashboard.hcursor.downField("templating").downField("list"))
        if text(variable, "type") == "query"
      yield variable.hcursor.downField("query").get[String]("query") match
        case Right(LabelValues(of, label)) => Expression(s"$name: ${text(variable, "name")}", of, Set(label))
        case other => throw IllegalStateException(s"$name has a variable that is no label's: $other")
    drawn ++ offered

  private def ofAlerts: Vector[Expression] =
    val read =
      Load(LoadSettings.builder().build()).loadFromString(Files.readString(directory.resolve("alerts.yaml")))
    for
      group <- elements(json(read).hcursor.downField("groups"))
      rule <- elements(group.hcursor.downField("rules"))
    yield Expression(
      text(rule, "alert"),
      text(rule, "expr"),
      Named.findAllMatchIn(rule.noSpaces).map(_.group(1)).toSet
    )

  private val Legend = """\{\{ *(\w+) *\}\}""".r
  private val LabelValues = """label_values\((.+), (\w+)\)""".r
  private val Named = """\$labels\.(\w+)""".r

  private def elements(cursor: ACursor): Vector[Json] = cursor.values.fold(Vector.empty)(_.toVector)

  private def text(json: Json, field: String): String =
    json.hcursor.get[String](field).fold(throw _, identity)

  /** Converts YAML that has only these types. */
  private def json(value: Any): Json = value match
    case fields: java.util.Map[?, ?] =>
      Json.fromFields(fields.asScala.map((name, field) => name.toString -> json(field)))
    case elements: java.util.List[?] => Json.fromValues(elements.asScala.map(json))
    case other => Json.fromString(other.toString)
