#pragma once

// The options of every command, as the command line gives them.

#include <CLI/CLI.hpp>
#include <string>

#include "scenarios/calibrate_command.h"
#include "scenarios/check_command.h"
#include "scenarios/compare_command.h"
#include "scenarios/doctor_command.h"
#include "scenarios/doctor_ranks_command.h"
#include "scenarios/explain_command.h"
#include "scenarios/import_command.h"
#include "scenarios/measure_command.h"
#include "scenarios/predict_command.h"
#include "scenarios/report_command.h"
#include "scenarios/show_command.h"
#include "scenarios/sweep_command.h"

namespace gradhaul {

struct CommandLine {
  PredictOptions predict;
  CompareOptions compare;
  MeasureOptions measure;
  CalibrateOptions calibrate;
  std::string progress = "auto";
  ExplainOptions explain;
  ShowOptions show;
  CheckOptions check;
  ImportOptions import;
  DoctorOptions doctor;
  DoctorRanksOptions doctor_ranks;
  SweepOptions sweep;
  ReportOptions report;
};

// All commands with their options; parsing fills in `line`, which outlives the app.
void add_commands(CLI::App& app, CommandLine& line);

}  // namespace gradhaul
