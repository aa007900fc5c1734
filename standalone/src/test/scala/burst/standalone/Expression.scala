package burst.standalone

import burst.standalone.Expression.*

/** A Prometheus expression, where it is used, and which labels of its results are displayed there. */
private[standalone] final case class Expression(where: String, text: String, shown: Set[String]):
  private val grouped =
    Grouping.findAllMatchIn(text).flatMap(_.group(1).split(',')).map(_.trim).filter(_.nonEmpty).toSet

  /** Any name that is neither called nor a keyword counts as a metric. */
  private val selectors =
    Name.findAllMatchIn(Grouping.replaceAllIn(text, " ")).toVector.collect:
      case Name(name, null, braces) if !Words(name) =>
        name -> Labels.in(Option(braces))

  /** Reports what the expression uses that is not exported. */
  def faults(exported: Exported): Vector[String] =
    val known = exported.series ++ Seq("up" -> Map.empty)
    val selected = selectors.flatMap: (metric, matchers) =>
      known.get(metric) match
        case None => Vector(s"$metric is not exported")
        case Some(labels) => matchers.flatMap(unknown(metric, labels, _, _))
    val available = OfTargets ++ selectors.flatMap((metric, _) => known.get(metric)).flatMap(_.keys)
    val resultLabels = if grouped.isEmpty then available else grouped
    val others =
      (grouped -- available).map(label => s"nothing has the label $label") ++
        (shown -- resultLabels).map(label => s"there is no $label to show")
    (selected ++ others).map(fault => s"$where: $fault")

  private def unknown(metric: String, labels: Map[String, Set[String]], label: String, value: String) =
    if OfTargets(label) then Vector.empty
    else
      labels.get(label) match
        case None => Vector(s"$metric has no label $label")
        case Some(_) if Open(label) => Vector.empty
        case Some(values) =>
          value.split('|').toVector.filterNot(values).map(it => s"$metric has no $label $it")

private[standalone] object Expression:
  private val Grouping = """\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)""".r

  /** A name, what makes it a call, and what is in its braces; no letters of numbers, times and variables. */
  private val Name =
    """(?<![\w.:$])([a-zA-Z_:][\w:]*+)(\s*\()?(\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?""".r
  private val Words = Set("and", "or", "unless", "bool", "offset")

  /** The labels that Prometheus adds to everything it reads. */
  private val OfTargets = Set("job", "instance")

  /** Labels whose values depend on the callers or on the machine. */
  private val Open = Set("method", "route", "status", "namespace", "definition", "pool", "gc", "le")

/** What processes export at `/metrics`: the labels of each metric, with the values that occur. */
private[standalone] final case class Exported(series: Map[String, Map[String, Set[String]]])

private[standalone] object Exported:
  private val Series = """([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+""".r

  def of(text: String): Exported =
    val lines = text.linesIterator.toVector.collect { case Series(name, labels) =>
      name -> Labels.in(Option(labels))
    }
    Exported(lines.groupMap(_._1)(_._2).map((name, all) =>
      name -> all.flatten.groupMap(_._1)(_._2).map((label, values) => label -> values.toSet)
    ))

/** Labels, and the values in quotes after them. */
private object Labels:
  private val Label = """(\w+)\s*(?:=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"""".r

  def in(text: Option[String]): Vector[(String, String)] =
    text.toVector.flatMap(Label.findAllMatchIn(_)).map(found => found.group(1) -> found.group(2))
