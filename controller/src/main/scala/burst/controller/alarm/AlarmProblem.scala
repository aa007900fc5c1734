package burst.controller.alarm

/** Why an alarm cannot be set as requested. Each message is one sentence for the caller. */
enum AlarmProblem(val message: String):
  case InputNotAnObject extends AlarmProblem("the input must be an object")
  case Missing(parameter: String) extends AlarmProblem(s"the $parameter parameter is missing")
  case Invalid(parameter: String, expected: String)
      extends AlarmProblem(s"the $parameter parameter must be $expected")
  case UnknownEvent(events: Seq[String])
      extends AlarmProblem(s"lifecycleEvent must be one of: ${events.mkString(", ")}")
  case NotACronExpression(mostCharacters: Int)
      extends AlarmProblem(
        s"cron must have five fields (minute, hour, day of month, month, day of week), or six with seconds first, and at most $mostCharacters characters"
      )
  case NeverFires extends AlarmProblem("the alarm would never fire: look at its times and at stopDate")
  case TriggerOfOthers(namespace: String)
      extends AlarmProblem(s"triggerName must be a trigger of your own namespace, as /$namespace/NAME")
  case NoTrigger(trigger: String) extends AlarmProblem(s"there is no trigger '$trigger'; create it first")
  case Exists(trigger: String)
      extends AlarmProblem(s"the trigger '$trigger' has an alarm already; update or delete it")
  case NoAlarm(trigger: String) extends AlarmProblem(s"the trigger '$trigger' has no alarm")
  case Conflict(trigger: String)
      extends AlarmProblem(
        s"the alarm of '$trigger' was changed by somebody else, or just fired; try again"
      )
